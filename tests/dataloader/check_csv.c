/* Samples from a file of separated values. */
#include "dataloader/input.h"
#include "tests/dataloader/fixture.h"
#include "tests/support/open_loader.h"

static const char table[] = "width,kind,height\n1,0,10\n2,2,20\n3,1,-30\n4.5,0,0\n";

static void make_table(void)
{
    fixture_make_folder();
    fixture_write_text("table.csv", table);
}

static cse_status open_with(const char *settings, cse_dataloader **loader)
{
    char yaml[1024];
    snprintf(yaml, sizeof yaml, "{data_processor: csv, path: %s, batch_size: 4, %s}",
             fixture_path("table.csv"), settings);
    return open_loader(yaml, 1, loader);
}

/* Four samples: two features each, then the answers, as bytes. */
static void expect_content(const char *settings, const char *names[2], const float features[8],
                           const void *answers)
{
    cse_dataloader *loader = NULL;
    fixture_expect(open_with(settings, &loader), CSE_OK, NULL);
    const cse_input *input = cse_dataloader_input_view(loader);
    ck_assert_int_eq(input->sample_count, 4);
    ck_assert_str_eq(input->streams[0].name, names[0]);
    ck_assert_str_eq(input->streams[1].name, names[1]);
    ck_assert(cse_shape_equal(input->streams[0].shape, cse_shape_of(2)));
    ck_assert_int_eq(cse_dataloader_microbatch_bytes(loader), 128);
    unsigned char *bytes = aligned_alloc(64, 128);
    ck_assert_int_eq(cse_dataloader_read(loader, 0, 0, bytes), CSE_OK);
    ck_assert_mem_eq(bytes, features, 32);
    ck_assert_mem_eq(bytes + 64, answers, 16);
    free(bytes);
    cse_dataloader_close(&loader);
}

START_TEST(columns_become_streams)
{
    const float features[] = { 1, 10, 2, 20, 3, -30, 4.5f, 0 };
    const float around[] = { 1, 0, 2, 2, 3, 1, 4.5f, 0 };
    const int32_t kinds[] = { 0, 2, 1, 0 };
    const float heights[] = { 10, 20, -30, 0 };
    const char *names[] = { "images", "labels" }, *regression[] = { "x", "targets" };
    expect_content("label: kind", names, features, kinds);
    expect_content("label: 1", names, features, kinds);
    expect_content("label: kind, classes: 3", names, features, kinds);
    expect_content("label: height, regression: true, features_name: x", regression, around,
                   heights);
}
END_TEST

/* (x - mean) / std of the values above, by hand. */
START_TEST(features_are_normalised)
{
    const float both[] = { 0, 4.5f, 0.5f, 9.5f, 1, -15.5f, 1.75f, -0.5f };
    const float each[] = { -2, 0.1f, 0, 0.2f, 2, -0.3f, 5, 0 };
    const int32_t kinds[] = { 0, 2, 1, 0 };
    const char *names[] = { "images", "labels" };
    expect_content("label: kind, mean: [1], std: [2]", names, both, kinds);
    expect_content("label: kind, mean: [2, 0], std: [0.5, 100]", names, each, kinds);
}
END_TEST

/* Named features, in their order; the others may hold anything. */
START_TEST(features_are_chosen_by_name)
{
    const float features[] = { 10, 1, 20, 2, -30, 3, 0, 4.5f };
    const float filled[] = { 10, 1, 20, -8, -30, 3, -7, 4.5f };
    const int32_t kinds[] = { 0, 2, 1, 0 };
    const char *names[] = { "images", "labels" };
    expect_content("label: kind, features: [height, width]", names, features, kinds);
    expect_content("label: -2, features: [-1, 0]", names, features, kinds);
    fixture_write_text("table.csv", "width,name,kind,height\n1,\"a\nb\",0,10\n,c,2,20\n3,,1,-30\n"
                                    "4.5,d,0,NaN\n");
    expect_content("label: kind, features: [height, width], missing_values: fill, "
                   "fill_value: [-7, -8]",
                   names, filled, kinds);
}
END_TEST

START_TEST(no_header_and_another_delimiter)
{
    const float features[] = { 1, 10, 2, 20, 3, -30, 4.5f, 0 };
    const int32_t kinds[] = { 0, 2, 1, 0 };
    const char *names[] = { "images", "labels" };
    fixture_write_text("table.csv", "1;0;10\n2;2;20\n3;1;-30\n4.5;0;0\n");
    expect_content("label: 1, header: false, delimiter: ';'", names, features, kinds);
    fixture_write_text("table.csv", "1\t0\t10\n2\t2\t20\n3\t1\t-30\n4.5\t0\t0\n");
    expect_content("label: 1, header: false, delimiter: \"\\t\"", names, features, kinds);
}
END_TEST

START_TEST(wrong_content_and_settings_are_refused)
{
    static const struct {
        const char *settings;
        cse_status status;
        const char *part;
    } rows[] = {
        { "label: weight", CSE_CONFIG, "accepted are 0 to 2; the header has width, kind, height" },
        { "label: 3", CSE_CONFIG, "there is no column \"3\"" },
        { "label: -4", CSE_CONFIG, "there is no column \"-4\"" },
        { "label: -1", CSE_DATA, "table.csv:4: label -30 in column 2" },
        { "label: kind, features: [kind]", CSE_CONFIG, "is that of the label, too" },
        { "label: kind, features: [depth]", CSE_CONFIG, "features: there is no column \"depth\"" },
        { "label: kind, decimal: x", CSE_CONFIG, "decimal is \"x\"" },
        { "label: kind, fill_value: [1, 2, 3]", CSE_CONFIG, "fill_value has 3 numbers" },
        { "label: 99999999999", CSE_CONFIG, "there is no column" },
        { "label: width", CSE_DATA, "table.csv:5: label 4.5 in column 0" },
        { "label: height", CSE_DATA, "table.csv:4: label -30 in column 2" },
        { "label: kind, classes: 2", CSE_DATA,
          "table.csv:3: label 2 in column 1, expected a whole"
          " number from 0 to 1" },
        { "label: kind, mean: [1, 2, 3]", CSE_CONFIG, "mean has 3 numbers: accepted are 1 or 2" },
        { "label: kind, std: [1, 0]", CSE_CONFIG, "std: number 1 is 0" },
        { "label: kind, std: []", CSE_CONFIG, "std has 0 numbers" },
        { "label: kind, delimiter: ',,'", CSE_CONFIG, "delimiter is \",,\"" },
        { "label: kind, delimiter: e", CSE_CONFIG, "delimiter is \"e\"" },
        { "label: kind, delimiter: ';'", CSE_DATA, "table.csv: one column only" },
        { "label: kind, delimiter: ';'", CSE_DATA, "set delimiter to the character between" },
        { "label: kind, header: false", CSE_CONFIG, "names the columns, set header: true" },
        { "label: 1, header: false", CSE_DATA, "table.csv:1:1: \"width\" is not a number" },
        { "label: 1, header: false", CSE_DATA, "names the columns, set header: true" },
        { "header: true", CSE_CONFIG, "label" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cse_dataloader *loader = NULL;
        fixture_expect(open_with(rows[i].settings, &loader), rows[i].status, rows[i].part);
        ck_assert_ptr_null(loader);
    }
    cse_dataloader *loader = NULL;
    fixture_write_text("table.csv", "kind\n1\n");
    fixture_expect(open_with("label: kind", &loader), CSE_DATA, "one column only");
    ck_assert_int_eq(remove(fixture_path("table.csv")), 0);
    fixture_expect(open_with("label: kind", &loader), CSE_NO_INPUT, "cannot open");
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("csv");
    tcase_add_checked_fixture(tests, make_table, fixture_remove_folder);
    tcase_add_test(tests, columns_become_streams);
    tcase_add_test(tests, features_are_normalised);
    tcase_add_test(tests, features_are_chosen_by_name);
    tcase_add_test(tests, no_header_and_another_delimiter);
    tcase_add_test(tests, wrong_content_and_settings_are_refused);
    return fixture_run(tests);
}
