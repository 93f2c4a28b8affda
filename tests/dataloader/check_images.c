/* Pictures: what chance decides is the same for the same seed, epoch and sample and differs
 * between epochs; bad ones are errors or replaced; hostile sizes take no memory. */
#include "dataloader/input.h"
#include "dataloader/pictures/image_decode.h"
#include "engine/base/directory.h"
#include "tests/dataloader/fixture.h"
#include "tests/samples/inputs/image_folder.h"
#include "tests/support/open_loader.h"

enum { PICTURES_OF_A_CLASS = 6, ELEMENTS = 3 * 8 * 8 };

static void make(void)
{
    fixture_make_folder();
    for (int i = 0; i < PICTURES_OF_A_CLASS; i++) {
        char name[32];
        ck_assert_int_eq(cse_make_directories("a class", fixture_path("cat")), CSE_OK);
        ck_assert_int_eq(cse_make_directories("a class", fixture_path("dog")), CSE_OK);
        snprintf(name, sizeof name, "cat/%d.png", i);
        fixture_write(name, png_picture, sizeof png_picture - 1);
        snprintf(name, sizeof name, "dog/%d.JPEG", i);
        fixture_write(name, jpeg_picture, sizeof jpeg_picture - 1);
    }
}

static void unmake(void)
{
    cse_remove_tree(fixture_folder);
}

static cse_dataloader *open_folder(const char *more)
{
    char yaml[1024];
    cse_dataloader *loader = NULL;
    snprintf(yaml, sizeof yaml,
             "{data_processor: image_folder, data_dir: %s, image_size: [8, 8], batch_size: 12%s}",
             fixture_folder, more);
    fixture_expect(open_loader(yaml, 1, &loader), CSE_OK, NULL);
    ck_assert_int_eq(cse_dataloader_input_view(loader)->sample_count, 12);
    return loader;
}

static float *read_step(cse_dataloader *loader, int64_t step)
{
    float *bytes = aligned_alloc(64, (size_t)cse_dataloader_microbatch_bytes(loader));
    fixture_expect(cse_dataloader_read(loader, step, 0, bytes), CSE_OK, NULL);
    return bytes;
}

START_TEST(chance_is_a_function_of_seed_epoch_and_sample)
{
    static const char *const seeds[] = { ", augmentation_seed: 1", ", augmentation_seed: 2" };
    float *values[2][2], *again;
    for (int s = 0; s < 2; s++) {
        char more[128];
        snprintf(more, sizeof more, ", random_resized_crop: true, horizontal_flip: true%s",
                 seeds[s]);
        cse_dataloader *loader = open_folder(more);
        values[s][1] = read_step(loader, 1); /* epoch 1 */
        values[s][0] = read_step(loader, 0);
        again = read_step(loader, 1);
        ck_assert_mem_eq(again, values[s][1], 12 * ELEMENTS * sizeof(float));
        ck_assert_mem_ne(values[s][0], values[s][1], 12 * ELEMENTS * sizeof(float));
        free(again);
        cse_dataloader_close(&loader);
    }
    ck_assert_mem_ne(values[0][0], values[1][0], 12 * ELEMENTS * sizeof(float));
    /* Samples of one picture are cut in different ways, and no value is beyond the picture's. */
    ck_assert_mem_ne(values[0][0], values[0][0] + ELEMENTS, ELEMENTS * sizeof(float));
    for (int i = 0; i < 12 * ELEMENTS; i++)
        ck_assert(values[0][0][i] > -2.2f && values[0][0][i] < 2.7f);
    for (int s = 0; s < 2; s++)
        for (int e = 0; e < 2; e++)
            free(values[s][e]);
}
END_TEST

/* About half of them are mirrored: the same values from right to left. */
START_TEST(flips_mirror_every_other_picture)
{
    int mirrored = 0, same = 0;
    cse_dataloader *plain = open_folder(""), *flipped = open_folder(", horizontal_flip: true");
    for (int64_t step = 0; step < 8; step++) {
        float *a = read_step(plain, step), *b = read_step(flipped, step);
        for (int i = 0; i < 12; i++) {
            const float *left = a + i * ELEMENTS, *right = b + i * ELEMENTS;
            bool is_mirror = true;
            for (int row = 0; row < 3 * 8; row++)
                for (int x = 0; x < 8; x++)
                    is_mirror = is_mirror && left[row * 8 + x] == right[row * 8 + 7 - x];
            mirrored += is_mirror;
            same += memcmp(left, right, ELEMENTS * sizeof(float)) == 0;
        }
        free(a);
        free(b);
    }
    ck_assert_int_eq(mirrored + same, 96);
    ck_assert_int_gt(mirrored, 30);
    ck_assert_int_gt(same, 30);
    cse_dataloader_close(&plain);
    cse_dataloader_close(&flipped);
}
END_TEST

START_TEST(bad_pictures_are_errors_or_replaced)
{
    float *values;
    cse_dataloader *loader;
    fixture_write("cat/2.png", png_picture, 60);
    fixture_write("dog/5.JPEG", jpeg_picture, sizeof jpeg_picture - 40);
    loader = open_folder("");
    values = aligned_alloc(64, (size_t)cse_dataloader_microbatch_bytes(loader));
    fixture_expect(cse_dataloader_read(loader, 0, 0, values), CSE_DATA, "cat/2.png: a PNG that is");
    free(values);
    cse_dataloader_close(&loader);
    loader = open_folder(", on_bad_record: skip");
    values = read_step(loader, 0);
    /* The next cat, and, in a circle, the first one. */
    const int32_t *labels =
        (const int32_t *)(const void *)((const char *)values +
                                        cse_dataloader_stream_offset(loader, 1));
    ck_assert_mem_eq(values + 2 * ELEMENTS, values + 3 * ELEMENTS, ELEMENTS * sizeof(float));
    ck_assert_mem_eq(values + 11 * ELEMENTS, values, ELEMENTS * sizeof(float));
    ck_assert_int_eq(labels[2], 0);
    ck_assert_int_eq(labels[10], 1);
    ck_assert_int_eq(labels[11], 0);
    free(values);
    cse_dataloader_close(&loader);
}
END_TEST

START_TEST(sizes_are_checked_before_memory_is_taken)
{
    static unsigned char huge[] =
        "\211PNG\r\n\032\n\0\0\0\015IHDR\0\0\177\377\0\0\177\377\010\2\0\0\0";
    cse_image image = { 0 };
    cse_image_decoder *decoder = cse_image_decoder_new(false);
    fixture_expect(cse_image_decode(decoder, huge, sizeof huge - 1, &image), CSE_DATA, "");
    fixture_expect(cse_image_decode(decoder, (const unsigned char *)"GIF89a", 6, &image), CSE_DATA,
                   "neither JPEG nor PNG nor WebP");
    fixture_expect(cse_image_decode(decoder, (const unsigned char *)"\377\330\377", 3, &image),
                   CSE_DATA, "no JPEG that can be read");
    ck_assert_uint_eq(image.capacity, 0);
    cse_image_clear(&image);
    cse_image_decoder_destroy(&decoder);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("images");
    tcase_add_checked_fixture(tests, make, unmake);
    tcase_add_test(tests, chance_is_a_function_of_seed_epoch_and_sample);
    tcase_add_test(tests, flips_mirror_every_other_picture);
    tcase_add_test(tests, bad_pictures_are_errors_or_replaced);
    tcase_add_test(tests, sizes_are_checked_before_memory_is_taken);
    return fixture_run(tests);
}
