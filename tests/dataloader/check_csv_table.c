/* Tables of numbers from text: what is accepted, and each refusal with its line and column. */
#include <math.h>

#include "dataloader/tables/csv_table.h"
#include "tests/dataloader/fixture.h"

static void load_good(const char *text, char delimiter, bool header, cse_csv_table *table)
{
    fixture_write_text("table", text);
    cse_status status = cse_csv_table_load(fixture_path("table"), delimiter, header, table);
    fixture_expect(status, CSE_OK, NULL);
}

static void expect_values(const char *text, char delimiter, bool header)
{
    static const double expected[] = { 1, 2.5, -3e2, 0.125, 0, 7 };
    cse_csv_table table;
    load_good(text, delimiter, header, &table);
    ck_assert_int_eq(table.rows, 2);
    ck_assert_int_eq(table.columns, 3);
    for (int i = 0; i < 6; i++)
        ck_assert_double_eq(table.values[i], expected[i]);
    ck_assert(header == (table.names != NULL));
    if (header) {
        ck_assert_str_eq(table.names[0], "a");
        ck_assert_str_eq(table.names[1], "b, c");
        ck_assert_str_eq(table.names[2], "say \"d\"");
    }
    ck_assert_int_eq(table.lines[0], header ? 2 : 1);
    ck_assert_int_eq(table.lines[1], header ? 3 : 2);
    cse_csv_table_clear(&table);
}

START_TEST(accepted_forms)
{
    expect_values("1,2.5,-3e2\n.125,0,7\n", ',', false);
    expect_values("1,2.5,-3e2\n.125,0,7", ',', false);
    expect_values("1,2.5,-300\r\n+0.125,-0,7.\r\n", ',', false);
    expect_values("1\t2.5\t-3E+2\n125e-3\t0\t07\n", '\t', false);
    expect_values("1 2.5 -300\n0.125 0 7\n", ' ', false);
    expect_values(" 1 ;\t2.5; \"-300\" \n0.125;0;7\n", ';', false);
    expect_values("a,\"b, c\",\"say \"\"d\"\"\"\n1,2.5,-300\n0.125,0,7\n", ',', true);
    expect_values("\xef\xbb\xbf"
                  "a,\"b, c\",\"say \"\"d\"\"\"\n1,2.5,-300\n0.125,0,7\n",
                  ',', true);
    expect_values("\xef\xbb\xbf"
                  "1,2.5,-300\n0.125,0,7\n",
                  ',', false);
    /* Line ends of old systems, blank lines and the mark of DOS at the end, and both of them. */
    expect_values("1,2.5,-300\r.125,0,7\r", ',', false);
    expect_values("1,2.5,-300\n.125,0,7\n\n\n", ',', false);
    expect_values("1,2.5,-300\r\n.125,0,7\r\n  \r\n\t\r\n", ',', false);
    expect_values("1,2.5,-300\n.125,0,7\n\x1a", ',', false);
    expect_values("1,2.5,-300\n.125,0,7\n\n\x1a", ',', false);
}
END_TEST

/* Of columns with True and False alone. */
START_TEST(booleans_are_ones_and_zeros)
{
    static const double expected[] = { 1, 0, 2, 0, 1, 3, 0, 1, 4 };
    cse_csv_table table;
    load_good("True,FALSE,2\nfalse,TRUE,3\nFalse,true,4\n", ',', false, &table);
    for (int i = 0; i < 9; i++)
        ck_assert_double_eq(table.values[i], expected[i]);
    cse_csv_table_clear(&table);
}
END_TEST

/* A quoted line break belongs to its field, and lines are counted on. */
START_TEST(quoted_line_breaks)
{
    cse_csv_table table;
    load_good("\"first\nname\",b\n1,\"2\"\n3,4\n", ',', true, &table);
    ck_assert_int_eq(table.rows, 2);
    ck_assert_int_eq(table.lines[0], 3);
    ck_assert_int_eq(table.lines[1], 4);
    ck_assert_double_eq(table.values[1], 2);
    cse_csv_table_clear(&table);
}
END_TEST

static cse_status load_with(const char *text, cse_csv_options options, cse_csv_table *table)
{
    fixture_write_text("table", text);
    return cse_csv_table_read(fixture_path("table"), &options, table);
}

/* What pandas takes for missing, and infinities: refused, left out, or to be filled. */
START_TEST(missing_values_as_the_setting_says)
{
    static const char text[] = "1,2\n3,\nNA,4\n5,nan\n6,-inf\nInfinity,7\n8,9\n";
    static const bool missing[7][2] = { { 0, 0 }, { 0, 1 }, { 1, 0 }, { 0, 1 },
                                        { 0, 1 }, { 1, 0 }, { 0, 0 } };
    cse_csv_table table;
    cse_csv_options options = { .delimiter = ',', .decimal = '.' };
    fixture_expect(load_with(text, options, &table), CSE_DATA, "table:2:3: the field is empty");
    fixture_expect(load_with(text + 4, options, &table), CSE_DATA, "set missing_values");
    options.missing = CSE_MISSING_DROPPED;
    fixture_expect(load_with(text, options, &table), CSE_OK, NULL);
    ck_assert_int_eq(table.rows, 2);
    ck_assert_int_eq(table.dropped, 5);
    ck_assert_int_eq(table.lines[1], 7);
    ck_assert_double_eq(table.values[2], 8);
    cse_csv_table_clear(&table);
    options.missing = CSE_MISSING_FILLED;
    fixture_expect(load_with(text, options, &table), CSE_OK, NULL);
    ck_assert_int_eq(table.rows, 7);
    for (int i = 0; i < 14; i++)
        ck_assert_int_eq(isnan(table.values[i]) != 0, missing[i / 2][i % 2]);
    cse_csv_table_clear(&table);
    options.missing = CSE_MISSING_DROPPED;
    fixture_expect(load_with("1,\nnan,2\n", options, &table), CSE_DATA, "leaves no sample");
}
END_TEST

/* 2^24 + 1 is the first whole number that float32 does not hold. */
START_TEST(whole_numbers_that_are_rounded_are_counted)
{
    cse_csv_table table;
    load_good("16777216,1\n16777217,-16777219\n9007199254740993,18014398509481984\n", ',', false,
              &table);
    ck_assert_int_eq(table.rounded, 3);
    ck_assert_int_eq(table.rounded_line, 2);
    ck_assert_int_eq(table.rounded_column, 0);
    cse_csv_table_clear(&table);
}
END_TEST

START_TEST(decimal_commas)
{
    static const double expected[] = { 1.5, -2.25, 3, 0.5 };
    cse_csv_table table;
    const cse_csv_options options = { .delimiter = ';', .decimal = ',' };
    fixture_expect(load_with("1,5;-2,25\n3;\"0,5\"\n", options, &table), CSE_OK, NULL);
    for (int i = 0; i < 4; i++)
        ck_assert_double_eq(table.values[i], expected[i]);
    cse_csv_table_clear(&table);
    fixture_expect(load_with("1.5;2\n", options, &table), CSE_DATA, "\"1.5\" is not a number");
    fixture_expect(load_with("1,2,3;2\n", options, &table), CSE_DATA, "of thousands");
}
END_TEST

START_TEST(long_numbers_are_those_of_the_c_library)
{
    static const char *const numbers[] = { "123456789012345",
                                           "1234567890123456",
                                           "9007199254740993",
                                           "0.1",
                                           "000000000000000000001",
                                           "3.4028234663852886e38",
                                           "1e-400",
                                           "99999999999999999999999999" };
    cse_csv_table table;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        load_good(numbers[i], ',', false, &table);
        ck_assert_double_eq(table.values[0], strtod(numbers[i], NULL));
        cse_csv_table_clear(&table);
    }
}
END_TEST

START_TEST(refused_with_line_and_column)
{
    static const struct {
        const char *text;
        bool header;
        const char *part;
    } rows[] = {
        { "1,2\n3,x4\n", false, "table:2:3: \"x4\" is not a number" },
        { "1,2\n3,  4 5\n", false, "table:2:5: \"4 5\" is not a number" },
        { "a,b\n1,2\n", false, "table:1:1: \"a\" is not a number" },
        { "1,nan\n", false, "table:1:3: the field is nan, which is no value" },
        { "1,inf\n", false, "table:1:3: the field is inf, which is no value" },
        { "1,\"6,789\"\n", false, "separators of thousands are not accepted" },
        { "1,True\n2,3\n", false, "table:2:3: the column has both numbers and True or False" },
        { "x,y,y\n1,2,3\n", true, "table:1: columns 1 and 2 are both named \"y\"" },
        { "1.5,2,0\n3,4,1\n", true, "table:1: this line should name the columns" },
        { "x,y,\n1,2,\n", true, "if each line ends with a delimiter" },
        { "x,y\n1,2,\n", true, "the line has more than 2 fields" },
        { "\xff\xfe"
          "1,2\n",
          false, "table: it is UTF-16" },
        { "PK\3\4...", false, "a workbook of a spreadsheet" },
        { "PAR1...", false, "set data_processor: parquet" },
        { "1,0x10\n", false, "table:1:3: \"0x10\" is not a number" },
        { "1,-\n", false, "table:1:3: \"-\" is not a number" },
        { "1,1e\n", false, "table:1:3: \"1e\" is not a number" },
        { "1,1.2.3\n", false, "table:1:3: \"1.2.3\" is not a number" },
        { "1,\x01\n", false, "table:1:3: \"?\" is not a number" },
        { "1,1e39\n", false, "table:1:3: 1e39 does not fit in float32" },
        { "1,1e999\n", false, "table:1:3: 1e999 does not fit in float32" },
        { "1,\n", false, "table:1:3: the field is empty" },
        { "1,,3\n", false, "table:1:3: the field is empty" },
        { "1,2\n3\n", false, "table:2:1: the line has 1 fields, expected 2" },
        { "1,2\n3,4,5\n", false, "table:2:5: the line has more than 2 fields, expected 2" },
        { "a,b,c\n1,2\n", true, "table:2:3: the line has 2 fields, expected 3" },
        { "1,2\n\n3,4\n", false, "table:2:1: the line is empty" },
        { "1,2\n  \n3,4\n", false, "table:2:3: the line is empty" },
        { "1,\"2\n", false, "table:1:3: a quoted field has no closing quote" },
        { "1,\"2\"3\n", false, "table:1:3: text follows the closing quote" },
        { "", false, "no line of numbers" },
        { "", true, "no line of numbers" },
        { "a,b\n", true, "no line of numbers" },
        { "\xef\xbb\xbf", false, "no line of numbers" },
    };
    cse_csv_table table;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fixture_write_text("table", rows[i].text);
        fixture_expect(cse_csv_table_load(fixture_path("table"), ',', rows[i].header, &table),
                       CSE_DATA, rows[i].part);
        ck_assert_ptr_null(table.values);
    }
    fixture_expect(cse_csv_table_load(fixture_path("missing"), ',', true, &table), CSE_NO_INPUT,
                   "cannot open");
}
END_TEST

START_TEST(very_long_fields_are_refused)
{
    char text[1200];
    cse_csv_table table;
    for (size_t length = 250; length < 1000; length += length < 260 ? 1 : 300) {
        memset(text, '1', length);
        text[0] = '.';
        text[length] = '\0';
        fixture_write_text("table", text);
        fixture_expect(cse_csv_table_load(fixture_path("table"), ',', false, &table),
                       length <= 255 ? CSE_OK : CSE_DATA, "longer than 255 characters");
        cse_csv_table_clear(&table);
    }
}
END_TEST

START_TEST(bytes_that_are_no_text_are_refused)
{
    static const char bytes[] = { '1', ',', '\0', '\n' };
    cse_csv_table table;
    fixture_write("table", bytes, sizeof bytes);
    fixture_expect(cse_csv_table_load(fixture_path("table"), ',', false, &table), CSE_DATA,
                   "table: its byte 2 is zero, as in UTF-16");
}
END_TEST

START_TEST(gzip_and_many_lines)
{
    enum { ROWS = 20000 };
    static char text[ROWS * 16];
    size_t length = 0;
    for (int i = 0; i < ROWS; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%d,%d.5\n", i, -i);
    fixture_write_gzip("table.gz", text, length);
    cse_csv_table table;
    ck_assert_int_eq(cse_csv_table_load(fixture_path("table.gz"), ',', false, &table), CSE_OK);
    ck_assert_int_eq(table.rows, ROWS);
    for (int i = 0; i < ROWS; i++) {
        ck_assert_double_eq(table.values[2 * i], i);
        ck_assert_double_eq(fabs(table.values[2 * i + 1]), i + 0.5);
    }
    cse_csv_table_clear(&table);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("csv_table");
    tcase_add_checked_fixture(tests, fixture_make_folder, fixture_remove_folder);
    tcase_add_test(tests, accepted_forms);
    tcase_add_test(tests, booleans_are_ones_and_zeros);
    tcase_add_test(tests, quoted_line_breaks);
    tcase_add_test(tests, missing_values_as_the_setting_says);
    tcase_add_test(tests, whole_numbers_that_are_rounded_are_counted);
    tcase_add_test(tests, decimal_commas);
    tcase_add_test(tests, long_numbers_are_those_of_the_c_library);
    tcase_add_test(tests, refused_with_line_and_column);
    tcase_add_test(tests, very_long_fields_are_refused);
    tcase_add_test(tests, bytes_that_are_no_text_are_refused);
    tcase_add_test(tests, gzip_and_many_lines);
    return fixture_run(tests);
}
