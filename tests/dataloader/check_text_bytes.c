/* Samples from the bytes of a file: their contents, their number, and files that cannot be used. */
#include "dataloader/input.h"
#include "tests/dataloader/fixture.h"
#include "tests/support/open_loader.h"

/* Byte i is 255 - i: 21 of them, the last bit of each byte's range included. */
enum { SIZE = 21 };
static unsigned char content[SIZE];

static void make_file(void)
{
    fixture_make_folder();
    for (int i = 0; i < SIZE; i++)
        content[i] = (unsigned char)(255 - i);
    fixture_write("text", content, SIZE);
}

static cse_status open_with(const char *name, const char *settings, cse_dataloader **loader)
{
    char yaml[1024];
    snprintf(yaml, sizeof yaml, "{data_processor: text_bytes, path: %s, batch_size: 1%s}",
             fixture_path(name), settings);
    return open_loader(yaml, 1, loader);
}

/* Sample i: 4 tokens from byte i * stride on, and the ones that follow each. */
static void expect_content(const char *name, const char *settings, int samples, int stride)
{
    cse_dataloader *loader = NULL;
    fixture_expect(open_with(name, settings, &loader), CSE_OK, NULL);
    const cse_input *input = cse_dataloader_input_view(loader);
    ck_assert_int_eq(input->sample_count, samples);
    ck_assert_int_eq(input->stream_count, 2);
    ck_assert_str_eq(input->streams[0].name, "input_ids");
    ck_assert_str_eq(input->streams[1].name, "labels");
    for (int s = 0; s < 2; s++) {
        ck_assert(cse_shape_equal(input->streams[s].shape, cse_shape_of(4)));
        ck_assert_int_eq(input->streams[s].dtype, CSE_INT32);
    }
    int32_t *bytes = aligned_alloc(64, 128), *labels = bytes + 16;
    for (int i = 0; i < samples; i++) {
        ck_assert_int_eq(cse_dataloader_read(loader, i, 0, bytes), CSE_OK);
        for (int t = 0; t < 4; t++) {
            ck_assert_int_eq(bytes[t], 255 - (i * stride + t));
            ck_assert_int_eq(labels[t], 255 - (i * stride + t + 1));
        }
    }
    free(bytes);
    cse_dataloader_close(&loader);
}

/* 4 + 1 bytes fill the first sample; each stride after that, one more: (21 - 5) / 4 + 1 = 5. */
START_TEST(a_label_is_the_byte_that_follows)
{
    expect_content("text", ", sequence_length: 4", 5, 4);
    expect_content("text", ", sequence_length: 4, stride: 4", 5, 4);
    expect_content("text", ", sequence_length: 4, stride: 1", 17, 1);
    expect_content("text", ", sequence_length: 4, stride: 7", 3, 7);
    expect_content("text", ", sequence_length: 4, stride: 100", 1, 100);
    fixture_write("text", content, SIZE - 1);
    expect_content("text", ", sequence_length: 4", 4, 4);
    fixture_write("text", content, 5);
    expect_content("text", ", sequence_length: 4", 1, 4);
}
END_TEST

START_TEST(compressed_content_is_the_same)
{
    fixture_write_gzip("text.gz", content, SIZE);
    expect_content("text.gz", ", sequence_length: 4", 5, 4);
}
END_TEST

START_TEST(wrong_files_and_settings_are_refused)
{
    static const struct {
        const char *name, *settings;
        cse_status status;
        const char *part;
    } rows[] = {
        { "none", "", CSE_NO_INPUT, "none" },
        { "text", "", CSE_DATA, "text: offset 21: the content ends here, expected at least 129" },
        { "text", ", sequence_length: 21", CSE_DATA, "expected at least 22 bytes" },
        { "empty", ", sequence_length: 1", CSE_DATA, "offset 0: the content ends here" },
        { "cut.gz", ", sequence_length: 4", CSE_DATA, "cut.gz: the compressed stream ends" },
        { "text", ", sequence_length: 0", CSE_CONFIG, "sequence_length" },
        { "text", ", sequence_length: 4, stride: 0", CSE_CONFIG, "stride" },
        { "text", ", sequence_length: 4, strides: 4", CSE_CONFIG, "strides" },
    };
    char compressed[4096];
    fixture_write("empty", "", 0);
    fixture_write_gzip("whole.gz", content, SIZE);
    FILE *file = fopen(fixture_path("whole.gz"), "rb");
    size_t size = fread(compressed, 1, sizeof compressed, file);
    ck_assert_int_eq(fclose(file), 0);
    fixture_write("cut.gz", compressed, size - 9);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cse_dataloader *loader = NULL;
        fixture_expect(open_with(rows[i].name, rows[i].settings, &loader), rows[i].status,
                       rows[i].part);
        ck_assert_ptr_null(loader);
    }
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("text_bytes");
    tcase_add_checked_fixture(tests, make_file, fixture_remove_folder);
    tcase_add_test(tests, a_label_is_the_byte_that_follows);
    tcase_add_test(tests, compressed_content_is_the_same);
    tcase_add_test(tests, wrong_files_and_settings_are_refused);
    return fixture_run(tests);
}
