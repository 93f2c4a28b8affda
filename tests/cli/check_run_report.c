/* The page of a report: the data replace the placeholder once, read back unchanged, and nothing in
 * them can end the script element that holds them. */
#include "cli/runs/downsample.c"
#include "cli/runs/report_page.c"
#include "cli/terminal/json_values.c"

#include <check.h>
#include <zlib.h>

/* Packed by zlib itself before each test. */
static char packed[4096];
cse_web_file cse_test_files[] = {
    { .path = "/index.html", .gzip = "", .gzip_bytes = 0 },
    { .path = "/report.html", .gzip = packed },
    { .path = NULL },
};

static void pack(const char *page)
{
    z_stream stream = { .next_in = (Bytef *)(uintptr_t)page,
                        .avail_in = (uInt)strlen(page),
                        .next_out = (Bytef *)packed,
                        .avail_out = sizeof packed };
    ck_assert_int_eq(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    ck_assert_int_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
    cse_test_files[1].gzip_bytes = stream.total_out;
    deflateEnd(&stream);
}

START_TEST(data_cannot_leave_their_script)
{
    cse_text data = { 0 }, page = { 0 };
    pack("<script type=\"application/json\">@CSENGINE_REPORT_DATA@</script><p>after</p>");
    cse_text_add(&data, "{\"a\":\"</script><script>x</script><!--\"}");
    ck_assert_int_eq(cse_report_fill(cse_test_files, &data, &page), CSE_OK);
    ck_assert_str_eq(page.data,
                     "<script type=\"application/json\">{\"a\":\"\\u003c/script>\\u003cscript>x"
                     "\\u003c/script>\\u003c!--\"}</script><p>after</p>");
    cse_text_clear(&data);
    cse_text_clear(&page);
}
END_TEST

START_TEST(a_page_without_a_place_and_no_page_fail)
{
    cse_text data = { 0 }, page = { 0 };
    cse_text_add(&data, "{}");
    pack("<p>nothing here</p>");
    ck_assert_int_eq(cse_report_fill(cse_test_files, &data, &page), CSE_INTERNAL);
    ck_assert_int_eq(cse_report_fill(cse_test_files + 2, &data, &page), CSE_UNAVAILABLE);
    ck_assert(strstr(cse_error_message(), "without pages") != NULL);
    ck_assert_int_eq(cse_report_fill(NULL, &data, &page), CSE_UNAVAILABLE);
    cse_test_files[1].gzip_bytes /= 2;
    ck_assert_int_eq(cse_report_fill(cse_test_files, &data, &page), CSE_INTERNAL);
    cse_text_clear(&data);
    cse_text_clear(&page);
}
END_TEST

enum { TENSORS = 29, KEPT = 500 };

/* Steps 10, 20, ... of `steps` observed ones, a record for each tensor, in pages that end anywhere.
 */
static json_t *downsampled(int steps, int page_size)
{
    cse_downsampler sampler = { .most = KEPT };
    json_t *page = json_array();
    for (int step = 1; step <= steps; step++)
        for (int tensor = 0; tensor < TENSORS; tensor++) {
            json_array_append_new(page, json_pack("{s:i, s:i, s:i}", "tensor", tensor, "attempt",
                                                  1 + step / 1000, "step", 10 * step));
            if ((int)json_array_size(page) == page_size) {
                cse_downsampler_add(&sampler, page);
                json_array_clear(page);
            }
        }
    cse_downsampler_add(&sampler, page);
    json_decref(page);
    return cse_downsampler_end(&sampler);
}

/* 500 records are 17 steps of 29: the stride is the least power of two with
 * ceil(steps / stride) <= 17, and one step more at the end. */
START_TEST(records_are_downsampled_by_whole_steps)
{
    static const int rows[][2] = { { 0, 1 },  { 1, 1 },  { 17, 1 },    { 18, 2 },
                                   { 34, 2 }, { 35, 4 }, { 1999, 128 } };
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        int steps = rows[r][0], stride = rows[r][1], expected = 1, i = 0;
        json_t *kept = downsampled(steps, 100);
        for (; i < (int)json_array_size(kept); i++) {
            const json_t *record = json_array_get(kept, (size_t)i);
            ck_assert_int_eq(cse_json_whole(record, "tensor", -1), i % TENSORS);
            ck_assert_int_eq(cse_json_whole(record, "step", -1), 10 * expected);
            if (i % TENSORS == TENSORS - 1)
                expected =
                    expected + stride > steps && expected < steps ? steps : expected + stride;
        }
        ck_assert_int_gt(expected, steps); /* the last step is there */
        ck_assert_int_eq(i % TENSORS, 0);
        ck_assert_int_le(i, KEPT + TENSORS);
        json_decref(kept);
    }
}
END_TEST

START_TEST(one_step_is_never_cut)
{
    cse_downsampler sampler = { .most = 10 };
    json_t *page = json_array();
    for (int tensor = 0; tensor < 40; tensor++)
        json_array_append_new(page, json_pack("{s:i, s:i}", "attempt", 1, "step", 5));
    cse_downsampler_add(&sampler, page);
    json_decref(page);
    json_t *kept = cse_downsampler_end(&sampler);
    ck_assert_uint_eq(json_array_size(kept), 40);
    json_decref(kept);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("report");
    TCase *test = tcase_create("page");
    tcase_add_test(test, data_cannot_leave_their_script);
    tcase_add_test(test, a_page_without_a_place_and_no_page_fail);
    tcase_add_test(test, records_are_downsampled_by_whole_steps);
    tcase_add_test(test, one_step_is_never_cut);
    suite_add_tcase(suite, test);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
