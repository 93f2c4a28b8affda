/* Images and labels from idx files: what is read, and every pair of files that does not fit. */
#include "dataloader/input.h"
#include "tests/dataloader/fixture.h"
#include "tests/support/open_loader.h"

enum { SAMPLES = 16, HEIGHT = 5, WIDTH = 7, PIXELS = HEIGHT * WIDTH };

static unsigned char images[16 + SAMPLES * PIXELS], labels[8 + SAMPLES];

static void fill_files(void)
{
    const unsigned char image_header[] = { 0, 0, 8, 3,      0, 0, 0, SAMPLES,
                                           0, 0, 0, HEIGHT, 0, 0, 0, WIDTH };
    const unsigned char label_header[] = { 0, 0, 8, 1, 0, 0, 0, SAMPLES };
    memcpy(images, image_header, sizeof image_header);
    memcpy(labels, label_header, sizeof label_header);
    for (int i = 0; i < SAMPLES * PIXELS; i++)
        images[16 + i] = (unsigned char)(i % 256);
    for (int i = 0; i < SAMPLES; i++)
        labels[8 + i] = (unsigned char)(i * 7 % 10);
}

static void make_files(void)
{
    fixture_make_folder();
    fill_files();
    fixture_write("train-images-idx3-ubyte", images, sizeof images);
    fixture_write_gzip("train-labels-idx1-ubyte.gz", labels, sizeof labels);
}

static cse_status open_with(const char *extra, cse_dataloader **loader)
{
    char yaml[1024];
    snprintf(yaml, sizeof yaml, "{data_processor: idx_images, data_dir: %s, batch_size: 16%s}",
             fixture_folder, extra);
    return open_loader(yaml, 1, loader);
}

static void expect_wrong(const char *extra, cse_status expected, const char *part)
{
    cse_dataloader *loader = NULL;
    fixture_expect(open_with(extra, &loader), expected, part);
    ck_assert_ptr_null(loader);
}

/* Row `set` of the reference: the bits of the float32 that each byte becomes. */
static void load_reference(int set, uint32_t bits[256])
{
    char path[1024];
    const char *root = getenv("top_srcdir");
    snprintf(path, sizeof path, "%s/tests/reference/idx_normalisation.txt", root ? root : "..");
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "%s is missing", path);
    for (int i = -256 * set; i < 256; i++) {
        unsigned value;
        ck_assert_int_eq(fscanf(file, "%8x", &value), 1);
        if (i >= 0)
            bits[i] = value;
    }
    fclose(file);
}

static void expect_content(const char *extra, int reference, cse_shape shape)
{
    uint32_t bits[256];
    cse_dataloader *loader = NULL;
    load_reference(reference, bits);
    fixture_expect(open_with(extra, &loader), CSE_OK, NULL);
    const cse_input *input = cse_dataloader_input_view(loader);
    ck_assert_int_eq(input->sample_count, SAMPLES);
    ck_assert_int_eq(input->stream_count, 2);
    ck_assert_str_eq(input->streams[0].name, "images");
    ck_assert_str_eq(input->streams[1].name, "labels");
    ck_assert(cse_shape_equal(input->streams[0].shape, shape));
    ck_assert(cse_shape_equal(input->streams[1].shape, cse_scalar_shape));
    ck_assert_int_eq(input->streams[0].dtype, CSE_FLOAT32);
    ck_assert_int_eq(input->streams[1].dtype, CSE_INT32);
    unsigned char *bytes = aligned_alloc(64, (size_t)cse_dataloader_microbatch_bytes(loader));
    ck_assert_int_eq(cse_dataloader_read(loader, 0, 0, bytes), CSE_OK);
    const uint32_t *pixels = (const uint32_t *)(void *)bytes;
    const int32_t *classes =
        (const int32_t *)(void *)(bytes + cse_dataloader_stream_offset(loader, 1));
    for (int i = 0; i < SAMPLES * PIXELS; i++)
        ck_assert_uint_eq(pixels[i], bits[images[16 + i]]);
    for (int i = 0; i < SAMPLES; i++)
        ck_assert_int_eq(classes[i], labels[8 + i]);
    free(bytes);
    cse_dataloader_close(&loader);
    ck_assert_ptr_null(loader);
}

START_TEST(values_are_those_of_torchvision)
{
    expect_content("", 0, cse_shape_of(PIXELS));
    expect_content(", flatten: false", 0, cse_shape_of(1, HEIGHT, WIDTH));
    expect_content(", mean: 0.5, std: 0.25", 1, cse_shape_of(PIXELS));
}
END_TEST

START_TEST(the_test_split_has_files_of_its_own)
{
    expect_wrong(", split: test", CSE_NO_INPUT, "t10k-images-idx3-ubyte: no such file");
    fixture_write_gzip("t10k-images-idx3-ubyte.gz", images, sizeof images);
    expect_wrong(", split: test", CSE_NO_INPUT, "t10k-labels-idx1-ubyte: no such file");
    fixture_write("t10k-labels-idx1-ubyte", labels, sizeof labels);
    expect_content(", split: test", 0, cse_shape_of(PIXELS));
}
END_TEST

START_TEST(missing_files_say_what_to_install)
{
    ck_assert_int_eq(remove(fixture_path("train-labels-idx1-ubyte.gz")), 0);
    expect_wrong("", CSE_NO_INPUT, "dataset-fashion-mnist");
    expect_wrong("", CSE_NO_INPUT, fixture_path("train-labels-idx1-ubyte"));
    ck_assert_int_eq(remove(fixture_path("train-images-idx3-ubyte")), 0);
    expect_wrong("", CSE_NO_INPUT, fixture_path("train-images-idx3-ubyte"));
}
END_TEST

START_TEST(labels_out_of_range_are_found)
{
    expect_wrong(", num_classes: 9", CSE_DATA, "offset 15: label 9 of sample 7, expected 0 to 8");
    labels[8 + 15] = 10;
    fixture_write_gzip("train-labels-idx1-ubyte.gz", labels, sizeof labels);
    expect_wrong("", CSE_DATA, "offset 23: label 10 of sample 15, expected 0 to 9");
    expect_content(", num_classes: 11", 0, cse_shape_of(PIXELS));
}
END_TEST

START_TEST(files_of_two_sets_are_found)
{
    labels[7] = SAMPLES - 1;
    fixture_write_gzip("train-labels-idx1-ubyte.gz", labels, sizeof labels - 1);
    expect_wrong("", CSE_DATA, "offset 4: 15 labels, but");
}
END_TEST

START_TEST(damaged_files_are_named)
{
    fixture_write("train-images-idx3-ubyte", labels, sizeof labels);
    expect_wrong("", CSE_DATA, "train-images-idx3-ubyte: offset 0: the magic number is 0x00000801");
    fixture_write("train-images-idx3-ubyte", images, sizeof images - 1);
    expect_wrong("", CSE_DATA, "train-images-idx3-ubyte: offset 575: the content ends here");
    fixture_write("train-images-idx3-ubyte", images, sizeof images);
    fixture_write("train-labels-idx1-ubyte.gz", images, sizeof images);
    expect_wrong("", CSE_DATA, "train-labels-idx1-ubyte.gz: offset 0");
}
END_TEST

START_TEST(wrong_settings_are_refused)
{
    expect_wrong(", std: 0", CSE_CONFIG, "std");
    expect_wrong(", split: validation", CSE_CONFIG, "split");
    expect_wrong(", num_classes: 0", CSE_CONFIG, "num_classes");
    expect_wrong(", samples: 3", CSE_CONFIG, "samples");
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("idx_images");
    tcase_add_checked_fixture(tests, make_files, fixture_remove_folder);
    tcase_add_test(tests, values_are_those_of_torchvision);
    tcase_add_test(tests, the_test_split_has_files_of_its_own);
    tcase_add_test(tests, missing_files_say_what_to_install);
    tcase_add_test(tests, labels_out_of_range_are_found);
    tcase_add_test(tests, files_of_two_sets_are_found);
    tcase_add_test(tests, damaged_files_are_named);
    tcase_add_test(tests, wrong_settings_are_refused);
    return fixture_run(tests);
}
