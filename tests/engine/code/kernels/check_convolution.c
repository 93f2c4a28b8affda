/* Convolutions and their gradients, for random sizes: as the reference kernels within a bound, the
 * same bits wherever the operands lie. And the copies of images that they compute in. */
#include <stdio.h>

#include "engine/code/kernels/image_blocks.h"
#include "tests/engine/code/kernels/fixture.h"

static int64_t draw(uint64_t seed, uint32_t what, int64_t low, int64_t high)
{
    uint32_t counter[4] = { what, 0, 13, 0 }, words[4];
    cse_philox(seed, counter, words);
    return low + words[0] % (high - low + 1);
}

typedef struct convolution {
    cse_conv2d_options options;
    cse_shape x, w, y;
    cse_dtype dtype;
} convolution;

/* Channels around and at multiples of the blocks of 16; sizes that no block divides. */
static convolution draw_convolution(uint64_t seed)
{
    static const int64_t channels[] = { 1, 3, 8, 15, 16, 17, 32, 40 };
    convolution c = { .dtype = seed % 3 == 2 ? CSE_BFLOAT16 : CSE_FLOAT32 };
    const int64_t groups = draw(seed, 0, 0, 3) == 0 ? 2 : 1;
    int64_t in = channels[draw(seed, 1, 0, 7)], out = channels[draw(seed, 2, 0, 7)];
    int64_t sizes[2], made[2], kernel[2];
    c.options.groups = groups;
    for (uint32_t i = 0; i < 2; i++) {
        kernel[i] = draw(seed, 10 + i, 1, 4);
        c.options.stride[i] = draw(seed, 20 + i, 1, 2);
        c.options.padding[i] = draw(seed, 30 + i, 0, 2);
        c.options.dilation[i] = draw(seed, 40 + i, 1, 2);
        const int64_t reach = c.options.dilation[i] * (kernel[i] - 1) + 1;
        sizes[i] = draw(seed, 50 + i, reach, 13);
        made[i] = (sizes[i] + 2 * c.options.padding[i] - reach) / c.options.stride[i] + 1;
    }
    const int64_t batch = draw(seed, 60, 1, 6);
    c.x = cse_shape_of(batch, in * groups, sizes[0], sizes[1]);
    c.w = cse_shape_of(out * groups, in, kernel[0], kernel[1]);
    c.y = cse_shape_of(batch, out * groups, made[0], made[1]);
    return c;
}

static void check_kernel(kernel_case *one, double terms, const char *name)
{
    kernel_case_close(one);
    kernel_case_draw(one, 3, -1, 1);
    cse_kernel *kernel = kernel_case_kernel(one, name);
    char text[160];
    snprintf(text, sizeof text, "%s (%s)", name, kernel->implementation);
    kernel_case_compare(one, kernel, terms, text);
    kernel_case_same_bits(one, kernel, 3, text);
    cse_kernel_destroy(&kernel);
    kernel_case_end(one);
}

START_TEST(forward_is_the_reference)
{
    const convolution c = draw_convolution((uint64_t)_i);
    kernel_case one;
    kernel_case_begin(&one);
    cse_node *x = kernel_case_leaf(&one, c.x, c.dtype), *w = kernel_case_leaf(&one, c.w, c.dtype);
    const bool with_bias = c.dtype == CSE_FLOAT32 && _i % 2 == 0;
    cse_node *bias =
        with_bias ? kernel_case_leaf(&one, cse_shape_of(c.w.dims[0]), CSE_FLOAT32) : NULL;
    cse_node *y = cse_conv2d(x, w, bias, &c.options);
    kernel_case_add(&one, with_bias ? y->inputs[0] : y);
    if (with_bias) {
        kernel_case_add(&one, y->inputs[1]->inputs[0]);
        kernel_case_add(&one, y->inputs[1]);
        kernel_case_add(&one, y);
    }
    if (_i % 4 < 2)
        kernel_case_add(&one, cse_relu(y));
    check_kernel(&one, (double)(c.w.dims[1] * c.w.dims[2] * c.w.dims[3] + 1), "conv2d");
}
END_TEST

START_TEST(gradients_are_the_references)
{
    const convolution c = draw_convolution((uint64_t)_i);
    for (int which = 0; which < 2; which++) {
        kernel_case one;
        kernel_case_begin(&one);
        cse_node *x = kernel_case_leaf(&one, c.x, c.dtype);
        cse_node *w = kernel_case_leaf(&one, c.w, c.dtype);
        cse_node *dy = kernel_case_leaf(&one, c.y, c.dtype);
        cse_node *like = cse_conv2d(x, w, NULL, &c.options);
        kernel_case_add(&one, which ? cse_conv2d_gradient_weight(x, dy, c.w, like)
                                    : cse_conv2d_gradient_input(w, dy, c.x, like));
        const int64_t positions = c.y.dims[0] * c.y.dims[2] * c.y.dims[3];
        const int64_t taps = c.y.dims[1] * c.w.dims[2] * c.w.dims[3];
        check_kernel(&one, (double)(which ? positions : taps),
                     which ? "conv2d_gradient_weight" : "conv2d_gradient_input");
    }
}
END_TEST

/* ---- copies ---- */

/* Element (image, channel, pixel) of both layouts; blocks are filled up with zeros. */
START_TEST(images_are_copied_exactly)
{
    const uint64_t seed = (uint64_t)_i;
    const cse_images images = { .count = draw(seed, 0, 1, 3),
                                .channels = draw(seed, 1, 1, 40),
                                .pixels = draw(seed, 2, 1, 70),
                                .dtype = _i % 2 ? CSE_BFLOAT16 : CSE_FLOAT32 };
    if (!cse_images_run_here())
        return;
    const size_t size = cse_dtype_size(images.dtype);
    const int64_t blocks = (images.channels + CSE_IMAGE_BLOCK - 1) / CSE_IMAGE_BLOCK;
    const size_t bytes = (size_t)(images.count * images.channels * images.pixels) * size;
    const size_t blocked = (size_t)(images.count * blocks * CSE_IMAGE_BLOCK * images.pixels) * size;
    /* Exact sizes, so that what checks memory finds a step outside. */
    unsigned char *planes = malloc(bytes), *copy = malloc(blocked), *back = malloc(bytes);
    unsigned char *expected = cse_calloc(1, blocked);
    ck_assert(planes != NULL && copy != NULL && back != NULL);
    for (size_t i = 0; i < bytes; i++)
        planes[i] = (unsigned char)draw(seed, (uint32_t)i + 100, 0, 255);
    for (int64_t n = 0; n < images.count; n++)
        for (int64_t c = 0; c < images.channels; c++)
            for (int64_t p = 0; p < images.pixels; p++) {
                const int64_t block = n * blocks + c / CSE_IMAGE_BLOCK;
                const int64_t from = (n * images.channels + c) * images.pixels + p;
                const int64_t to =
                    (block * images.pixels + p) * CSE_IMAGE_BLOCK + c % CSE_IMAGE_BLOCK;
                memcpy(expected + (size_t)to * size, planes + (size_t)from * size, size);
            }
    cse_images_to_blocks(&images, planes, copy);
    ck_assert_mem_eq(copy, expected, blocked);
    cse_images_to_planes(&images, copy, back, false);
    ck_assert_mem_eq(back, planes, bytes);
    cse_images_to_planes(&images, copy, back, true);
    for (int64_t i = 0; i < (int64_t)(bytes / size); i++) {
        const double x = cse_read_element(images.dtype, planes, i);
        const bool zero = x < 0; /* not NaN, not -0 */
        ck_assert(zero ? cse_read_element(images.dtype, back, i) == 0
                       : memcmp(back + (size_t)i * size, planes + (size_t)i * size, size) == 0);
    }
    free(planes);
    free(copy);
    free(back);
    free(expected);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("convolution");
    TCase *cases = tcase_create("convolution");
    tcase_set_timeout(cases, 60);
    tcase_add_loop_test(cases, forward_is_the_reference, 0, 40);
    tcase_add_loop_test(cases, gradients_are_the_references, 0, 40);
    tcase_add_loop_test(cases, images_are_copied_exactly, 0, 40);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
