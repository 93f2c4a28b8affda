/* Augmentations beside torchvision's operations on pictures of Pillow, bit for bit, and what chance
 * decides: parameters in their ranges, operations as often as each other. */
#include <math.h>

#include "dataloader/pictures/augmentations.h"
#include "tests/dataloader/fixture.h"
#include "tests/reference/augmentations.h"

enum { WIDTH = REFERENCE_WIDTH, HEIGHT = REFERENCE_HEIGHT, BYTES = WIDTH * HEIGHT * 3 };

static unsigned char bytes[BYTES], room[BYTES];

/* As tests/reference/augmentations.py. */
static cse_pixels picture(void)
{
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            for (int c = 0; c < 3; c++) {
                const int noise = (x * 7919 + y * 104729 + c * 1299709) % 97;
                bytes[(y * WIDTH + x) * 3 + c] =
                    (unsigned char)((x * (5 + c) + y * (9 - 2 * c) + noise + (x > y ? 120 : 0)) %
                                    256);
            }
    return (cse_pixels){ .bytes = bytes, .width = WIDTH, .height = HEIGHT, .other = room };
}

static void compare(const reference_picture *reference)
{
    uint64_t hash = 14695981039346656037u;
    for (int i = 0; i < BYTES; i++)
        hash = (hash ^ bytes[i]) * 1099511628211u;
    ck_assert_msg(hash == reference->hash,
                  "%s: begins %d %d %d %d %d %d, torchvision's %d %d %d %d "
                  "%d %d",
                  reference->name, bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5],
                  reference->first[0], reference->first[1], reference->first[2],
                  reference->first[3], reference->first[4], reference->first[5]);
}

static void brightness(cse_pixels *p, double x)
{
    cse_pixels_brightness(p, x);
}
static void posterize(cse_pixels *p, double x)
{
    cse_pixels_posterize(p, (int)x);
}
static void autocontrast(cse_pixels *p, double x)
{
    (void)x;
    cse_pixels_contrast(p, 0.5);
    cse_pixels_autocontrast(p);
}
static void equalize(cse_pixels *p, double x)
{
    (void)x;
    cse_pixels_equalize(p);
}

static const struct {
    const char *name;
    void (*apply)(cse_pixels *pixels, double x);
} operations[] = {
    { "brightness", brightness },
    { "contrast", cse_pixels_contrast },
    { "saturation", cse_pixels_saturation },
    { "hue", cse_pixels_hue },
    { "sharpness", cse_pixels_sharpness },
    { "posterize", posterize },
    { "solarize", cse_pixels_solarize },
    { "autocontrast", autocontrast },
    { "equalize", equalize },
    { "rotate", cse_pixels_rotate },
};

START_TEST(operations_are_those_of_torchvision)
{
    const size_t count = sizeof reference_operations / sizeof reference_operations[0];
    for (size_t r = 0; r < count; r++) {
        const reference_picture *reference = &reference_operations[r];
        const size_t length = strcspn(reference->name, " ");
        size_t o = 0;
        while (strlen(operations[o].name) != length ||
               strncmp(operations[o].name, reference->name, length) != 0)
            o++;
        cse_pixels p = picture();
        operations[o].apply(&p, strtod(reference->name + length, NULL));
        compare(reference);
    }
}
END_TEST

START_TEST(rand_augment_is_that_of_torchvision)
{
    const size_t count = sizeof reference_rand_augment / sizeof reference_rand_augment[0];
    bool seen[CSE_RAND_AUGMENT_OPS] = { false };
    for (size_t r = 0; r < count; r++) {
        const reference_picture *reference = &reference_rand_augment[r];
        char name[32];
        int magnitude, negative, op = 0;
        ck_assert_int_eq(sscanf(reference->name, "%31s %d %d", name, &magnitude, &negative), 3);
        while (strcmp(cse_rand_augment_names[op], name) != 0)
            op++;
        seen[op] = true;
        cse_pixels p = picture();
        cse_rand_augment_apply(op, magnitude, 31, negative != 0, &p);
        compare(reference);
    }
    for (int op = 0; op < CSE_RAND_AUGMENT_OPS; op++)
        ck_assert_msg(seen[op], "%s has no reference", cse_rand_augment_names[op]);
}
END_TEST

/* Whatever is asked of a picture, the same (seed, epoch, sample) gives the same, and another epoch
 * or sample something else. */
START_TEST(chance_is_a_function_of_epoch_and_sample)
{
    const cse_augmentations a = { .seed = 3,
                                  .num_ops = 2,
                                  .magnitude = 9,
                                  .bins = 31,
                                  .jitters = true,
                                  .brightness = 0.4,
                                  .contrast = 0.4,
                                  .saturation = 0.4,
                                  .hue = 0.1 };
    static unsigned char first[BYTES];
    int same = 0;
    for (int64_t i = 0; i < 60; i++) {
        cse_pixels p = picture();
        cse_augment_pixels(&a, 4, i, &p);
        memcpy(first, bytes, BYTES);
        p = picture();
        cse_augment_pixels(&a, 4, i, &p);
        ck_assert_mem_eq(first, bytes, BYTES);
        p = picture();
        cse_augment_pixels(&a, 5, i, &p);
        same += memcmp(first, bytes, BYTES) == 0;
        p = picture();
        cse_augment_pixels(&a, 4, i + 1, &p);
        same += memcmp(first, bytes, BYTES) == 0;
    }
    ck_assert_int_eq(same, 0);
}
END_TEST

/* Shares and ratios of the rectangles, and how often there is one. */
START_TEST(erasing_keeps_to_its_ranges)
{
    enum { SIDE = 64, SAMPLES = 4000 };
    static float values[SIDE * SIDE];
    const cse_augmentations a = { .seed = 9,
                                  .erases = true,
                                  .probability = 0.25,
                                  .scale = { 0.02, 0.33 },
                                  .ratio = { 0.3, 3.3 },
                                  .value = 7 };
    int erased = 0;
    for (int64_t sample = 0; sample < SAMPLES; sample++) {
        int left = SIDE, right = -1, top = SIDE, bottom = -1, count = 0;
        memset(values, 0, sizeof values);
        cse_augment_values(&a, 0, sample, (const int[3]){ 1, SIDE, SIDE }, values);
        for (int i = 0; i < SIDE * SIDE; i++) {
            const int x = i % SIDE, y = i / SIDE;
            if (values[i] == 0)
                continue;
            ck_assert(values[i] == 7);
            left = x < left ? x : left;
            right = x > right ? x : right;
            top = y < top ? y : top;
            bottom = y > bottom ? y : bottom;
            count++;
        }
        if (count == 0)
            continue;
        const double height = bottom - top + 1, width = right - left + 1;
        ck_assert_int_eq(count, (int)(height * width));
        ck_assert_double_ge(count / (double)(SIDE * SIDE), 0.015);
        ck_assert_double_le(count / (double)(SIDE * SIDE), 0.36);
        ck_assert_double_ge((height + 0.5) / (width - 0.5), 0.3);
        ck_assert_double_le((height - 0.5) / (width + 0.5), 3.3);
        erased++;
    }
    /* Four deviations of a binomial around its mean. */
    ck_assert_double_le(fabs(erased - 0.25 * SAMPLES), 4 * sqrt(0.25 * 0.75 * SAMPLES));
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("augmentations");
    tcase_add_test(tests, operations_are_those_of_torchvision);
    tcase_add_test(tests, rand_augment_is_that_of_torchvision);
    tcase_add_test(tests, chance_is_a_function_of_epoch_and_sample);
    tcase_add_test(tests, erasing_keeps_to_its_ranges);
    return fixture_run(tests);
}
