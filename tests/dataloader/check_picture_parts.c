/* Parts of pictures: decoded and resized alone they have the bits that they have in the whole, and
 * what is damaged outside of them is refused all the same. */
#include <stdio.h> /* jpeglib.h needs it */

#include <jpeglib.h>

#include "dataloader/pictures/image_decode.h"
#include "dataloader/pictures/image_resize.h"
#include "engine/base/random.h"
#include "tests/dataloader/fixture.h"

/* How a JPEG is written: samples of brightness for each of colour, across and down; its other
 * forms. */
static const struct form {
    int across, down;
    bool grey, progressive, restarts;
} forms[] = {
    { 1, 1, false, false, false }, { 2, 1, false, false, false }, { 2, 2, false, false, false },
    { 1, 2, false, false, false }, { 4, 1, false, false, false }, { 4, 2, false, false, true },
    { 2, 2, false, true, false },  { 1, 1, true, false, false },  { 2, 2, false, false, true },
    { 4, 1, false, false, true },
};
enum { FORMS = sizeof forms / sizeof forms[0], CHANNELS = 3 };

static uint32_t number_of_test;

static int at_random(int below)
{
    const uint32_t counter[4] = { number_of_test++, 7, 0, 0 };
    uint32_t words[4];
    cse_philox(1, counter, words);
    return (int)(words[0] % (uint32_t)below);
}

/* Waves with noise. */
static unsigned char *pixels_of(int width, int height)
{
    unsigned char *pixels = malloc((size_t)(width * height * CHANNELS));
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            for (int c = 0; c < CHANNELS; c++)
                pixels[(y * width + x) * CHANNELS + c] =
                    (unsigned char)((x * (3 + c) + y * (5 - c)) / 4 + at_random(40));
    return pixels;
}

static unsigned long write_jpeg(const struct form *form, int width, int height,
                                unsigned char **bytes)
{
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    unsigned long size = 0;
    unsigned char *pixels = pixels_of(width, height);
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    *bytes = NULL;
    jpeg_mem_dest(&jpeg, bytes, &size);
    jpeg.image_width = (JDIMENSION)width;
    jpeg.image_height = (JDIMENSION)height;
    jpeg.input_components = form->grey ? 1 : CHANNELS;
    jpeg.in_color_space = form->grey ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, 85, TRUE);
    jpeg.comp_info[0].h_samp_factor = form->across;
    jpeg.comp_info[0].v_samp_factor = form->down;
    jpeg.restart_interval = form->restarts ? 3 : 0;
    if (form->progressive)
        jpeg_simple_progression(&jpeg);
    jpeg_start_compress(&jpeg, TRUE);
    while (jpeg.next_scanline < jpeg.image_height) {
        JSAMPROW row = pixels + (size_t)jpeg.next_scanline * (size_t)width * CHANNELS;
        jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    free(pixels);
    return size;
}

typedef struct wish {
    cse_image_window part;
    int times;
} wish;

static int reduction(void *self, int width, int height)
{
    (void)width, (void)height;
    return ((const wish *)self)->times;
}

static cse_image_window part_of(void *self, int width, int height)
{
    (void)width, (void)height;
    return ((const wish *)self)->part;
}

static cse_image_window random_part(int width, int height)
{
    cse_image_window part = { .width = 1 + at_random(width), .height = 1 + at_random(height) };
    part.left = at_random(width - part.width + 1);
    part.top = at_random(height - part.height + 1);
    return part;
}

static void expect_same_part(const cse_image *whole, const cse_image *some,
                             const cse_image_window *part)
{
    ck_assert_int_eq(whole->width, some->width);
    ck_assert_int_eq(whole->height, some->height);
    for (int y = part->top; y < part->top + part->height; y++) {
        const size_t at = (size_t)(y * whole->width + part->left) * CHANNELS;
        ck_assert_msg(
            memcmp(whole->pixels + at, some->pixels + at, (size_t)part->width * CHANNELS) == 0,
            "row %d of a part at %d, %d of %d x %d in a picture of %d x %d differs", y, part->left,
            part->top, part->width, part->height, whole->width, whole->height);
    }
}

START_TEST(a_part_has_the_bits_of_the_whole)
{
    const struct form *form = &forms[_i];
    cse_image whole = { 0 }, some = { 0 };
    cse_image_decoder *decoder = cse_image_decoder_new(true);
    for (int picture = 0; picture < 8; picture++) {
        unsigned char *bytes;
        const int width = 1 + at_random(400), height = 1 + at_random(300);
        const unsigned long size = write_jpeg(form, width, height, &bytes);
        for (int times = 1; times <= 8; times *= 2) {
            wish wished = { .part = { .width = (width + times - 1) / times,
                                      .height = (height + times - 1) / times },
                            .times = times };
            const cse_picture_use all = { .reduction = reduction, .self = &wished };
            const cse_picture_use use = { reduction, part_of, &wished };
            fixture_expect(cse_image_decode_part(decoder, bytes, size, &all, &whole), CSE_OK, NULL);
            for (int i = 0; i < 8; i++) {
                wished.part = random_part(whole.width, whole.height);
                fixture_expect(cse_image_decode_part(decoder, bytes, size, &use, &some), CSE_OK,
                               NULL);
                expect_same_part(&whole, &some, &wished.part);
            }
        }
        free(bytes);
    }
    cse_image_clear(&whole);
    cse_image_clear(&some);
    cse_image_decoder_destroy(&decoder);
}
END_TEST

/* Cut off, or with other bytes, behind the part that is used. */
START_TEST(damage_outside_of_the_part_is_refused)
{
    unsigned char *bytes;
    cse_image some = { 0 };
    cse_image_decoder *decoder = cse_image_decoder_new(false);
    wish wished = { .part = { .width = 16, .height = 16 }, .times = 1 };
    const cse_picture_use use = { reduction, part_of, &wished };
    const unsigned long size = write_jpeg(&forms[_i], 320, 240, &bytes);
    fixture_expect(cse_image_decode_part(decoder, bytes, size, &use, &some), CSE_OK, NULL);
    for (unsigned long cut = size / 3; cut < size - 64; cut += size / 40)
        fixture_expect(cse_image_decode_part(decoder, bytes, cut, &use, &some), CSE_DATA,
                       "a JPEG that is not whole");
    free(bytes);
    cse_image_clear(&some);
    cse_image_decoder_destroy(&decoder);
}
END_TEST

START_TEST(a_window_has_the_bits_of_the_whole_result)
{
    cse_resizer resizer = { .filter = _i == 0 ? CSE_RESIZE_BILINEAR : CSE_RESIZE_BICUBIC };
    for (int picture = 0; picture < 60; picture++) {
        const int from[2] = { 1 + at_random(200), 1 + at_random(150) };
        const int size[2] = { picture % 5 == 0 ? from[0] : 1 + at_random(150),
                              picture % 7 == 0 ? from[1] : 1 + at_random(200) };
        unsigned char *pixels = pixels_of(from[0], from[1]);
        unsigned char *whole = malloc((size_t)(size[0] * size[1] * CHANNELS));
        unsigned char *some = malloc((size_t)(size[0] * size[1] * CHANNELS));
        const cse_image_part part = { pixels, from[0], from[1], (size_t)from[0] * CHANNELS };
        cse_resize(&resizer, &part, size[0], size[1], whole);
        const cse_image_window window = random_part(size[0], size[1]);
        cse_image_window needed;
        const cse_resize_sizes sizes = { from[0], from[1], size[0], size[1] };
        cse_resize_needs(&resizer, &sizes, &window, &needed);
        /* What is not needed may be anything. */
        for (int y = 0; y < from[1]; y++)
            for (int x = 0; x < from[0]; x++)
                if (x < needed.left || x >= needed.left + needed.width || y < needed.top ||
                    y >= needed.top + needed.height)
                    memset(pixels + (y * from[0] + x) * CHANNELS, 77, CHANNELS);
        cse_resize_part(&resizer, &part, size, &window, some);
        for (int y = 0; y < window.height; y++)
            ck_assert_mem_eq(some + (size_t)(y * window.width) * CHANNELS,
                             whole + (size_t)((y + window.top) * size[0] + window.left) * CHANNELS,
                             (size_t)window.width * CHANNELS);
        free(pixels);
        free(whole);
        free(some);
    }
    cse_resizer_clear(&resizer);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("picture_parts");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, a_part_has_the_bits_of_the_whole, 0, FORMS);
    tcase_add_loop_test(tests, damage_outside_of_the_part_is_refused, 0, FORMS);
    tcase_add_loop_test(tests, a_window_has_the_bits_of_the_whole_result, 0, 2);
    return fixture_run(tests);
}
