/* Tables of Arrow that are damaged, cut off or compressed are refused, and no row of them is read
 * from elsewhere. That good ones are read is the contract test's matter (check_all_inputs). */
#include "dataloader/formats/arrow_file.h"
#include "tests/dataloader/fixture.h"
#include "tests/samples/inputs/arrow.h"

enum { BYTES = sizeof stream_form - 1, MOST_LENGTH = 64 };

static cse_file_pool *pool;
static cse_arrow_file table;

static cse_status open_bytes(const char *bytes, size_t size)
{
    int file;
    FILE *made = fopen(fixture_path("t.arrow"), "wb");
    ck_assert_ptr_nonnull(made);
    ck_assert_uint_eq(fwrite(bytes, 1, size, made), size);
    fclose(made);
    pool = cse_file_pool_new(NULL, NULL);
    ck_assert_int_eq(cse_file_pool_add(pool, fixture_path("t.arrow"), &file), CSE_OK);
    return cse_arrow_open(pool, file, &table);
}

static void close_all(void)
{
    cse_arrow_clear(&table);
    cse_file_pool_destroy(&pool);
}

static void refuses(const char *bytes, size_t size, const char *why)
{
    ck_assert_int_eq(open_bytes(bytes, size), CSE_DATA);
    ck_assert_msg(strstr(cse_error_message(), why) != NULL, "%s", cse_error_message());
    close_all();
}

/* Any row may be refused. */
static void read_rows(void)
{
    float numbers[MOST_LENGTH];
    for (int c = 0; c < table.column_count; c++)
        for (int64_t r = 0; r < table.rows && table.columns[c].kind != CSE_ARROW_OTHER; r++) {
            int64_t length;
            const cse_arrow_cell cell = { c, r };
            if (cse_arrow_length(&table, cell, &length) != CSE_OK)
                continue;
            ck_assert_int_ge(length, 0);
            if (table.columns[c].kind != CSE_ARROW_TEXT)
                (void)cse_arrow_read(&table, cell, length < MOST_LENGTH ? length : MOST_LENGTH,
                                     CSE_FLOAT32, numbers);
        }
}

START_TEST(what_is_cut_off_is_refused)
{
    for (size_t size = 0; size < BYTES - 8; size += 8) {
        const cse_status status = open_bytes(stream_form, size);
        if (status == CSE_OK) /* at the end of a message: there are fewer batches */
            ck_assert_int_lt(table.rows, 12);
        else
            ck_assert_int_eq(status, CSE_DATA);
        close_all();
    }
    ck_assert_int_eq(open_bytes(stream_form, BYTES - 8), CSE_OK);
    ck_assert_int_eq(table.rows, 12);
    close_all();
    refuses("", 0, "it is no stream of Arrow");
    refuses("ARROW1\0\0", 8, "it is no stream of Arrow");
}
END_TEST

START_TEST(damaged_bytes_are_survived)
{
    char bytes[BYTES];
    int refused = 0;
    for (size_t at = 0; at < BYTES; at++) {
        memcpy(bytes, stream_form, BYTES);
        bytes[at] ^= (char)(at % 2 == 0 ? 0xff : 0x21);
        const cse_status status = open_bytes(bytes, BYTES);
        ck_assert(status == CSE_OK || status == CSE_DATA);
        refused += status != CSE_OK;
        if (status == CSE_OK)
            read_rows();
        close_all();
    }
    ck_assert_int_gt(refused, 100);
}
END_TEST

/* The places of the lists of the column tokens: 0, 4, 8, ... */
START_TEST(a_place_beyond_the_column_is_refused)
{
    static const int32_t places[] = { 0, 4, 8, 12 }, wrong[] = { 36, 3, -4, 1 << 30 };
    char bytes[BYTES];
    int64_t length;
    for (size_t w = 0; w < sizeof wrong / sizeof wrong[0]; w++) {
        memcpy(bytes, stream_form, BYTES);
        char *at = memmem(bytes, BYTES, places, sizeof places);
        ck_assert_ptr_nonnull(at);
        memcpy(at + 8, &wrong[w], sizeof wrong[w]);
        ck_assert_int_eq(open_bytes(bytes, BYTES), CSE_OK);
        const int column = cse_arrow_find(&table, "tokens");
        ck_assert_int_eq(cse_arrow_length(&table, (cse_arrow_cell){ column, 1 }, &length),
                         CSE_DATA);
        ck_assert_ptr_nonnull(strstr(cse_error_message(), "row 1, column tokens"));
        ck_assert_int_eq(cse_arrow_length(&table, (cse_arrow_cell){ column, 0 }, &length), CSE_OK);
        ck_assert_int_eq(cse_arrow_length(&table, (cse_arrow_cell){ column, 5 }, &length), CSE_OK);
        close_all();
    }
}
END_TEST

START_TEST(what_no_int32_holds_is_refused)
{
    static const struct {
        const char *column, *why;
        int64_t row;
    } cells[] = { { "a", "it is null", 3 },
                  { "b", "a number in it is null", 5 },
                  { "c", "no int32", 7 },
                  { "d", "no int32", 2 } };
    int32_t value[2];
    ck_assert_int_eq(open_bytes(nulls_form, sizeof nulls_form - 1), CSE_OK);
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        const int column = cse_arrow_find(&table, cells[i].column);
        for (int64_t row = 0; row < 12; row++) {
            const cse_arrow_cell cell = { column, row };
            const int64_t count = strcmp(cells[i].column, "b") == 0 ? 2 : 1;
            const cse_status status = cse_arrow_read(&table, cell, count, CSE_INT32, value);
            ck_assert_int_eq(status, row == cells[i].row ? CSE_DATA : CSE_OK);
            if (status == CSE_OK)
                ck_assert_int_eq(value[0], (int)row);
            else
                ck_assert_ptr_nonnull(strstr(cse_error_message(), cells[i].why));
        }
    }
    close_all();
}
END_TEST

int main(void)
{
    TCase *test = tcase_create("arrow");
    tcase_add_checked_fixture(test, fixture_make_folder, fixture_remove_folder);
    tcase_add_test(test, what_is_cut_off_is_refused);
    tcase_add_test(test, damaged_bytes_are_survived);
    tcase_add_test(test, a_place_beyond_the_column_is_refused);
    tcase_add_test(test, what_no_int32_holds_is_refused);
    return fixture_run(test);
}
