/* Pooling and its gradients, in every way of computing them: the same bits as plain loops over the
 * windows, for random sizes, kernels, strides and paddings, on values full of ties, zeros of both
 * signs, infinities and NaN; nothing is written outside the result. */
#include "tests/engine/code/kernels/fixture.h"

static const float palette[] = { 0.0f, -0.0f, 1.0f,     1.0f,      -1.0f,
                                 2.5f, -3.0f, INFINITY, -INFINITY, NAN };

static const char *const ways[] = { "pairs:avx512", "pairs", "rows", "windows" };

typedef struct pooling {
    cse_pool2d_options options;
    int64_t planes, sizes[2], pooled[2];
    bool maximum;
} pooling;

/* ---- the formula: one window after another ---- */

typedef struct bounds {
    int64_t first[2], end[2];
} bounds;

static bounds window_at(const pooling *p, int64_t row, int64_t column)
{
    const int64_t position[2] = { row, column };
    bounds at;
    for (int i = 0; i < 2; i++) {
        at.first[i] = position[i] * p->options.stride[i] - p->options.padding[i];
        at.end[i] = at.first[i] + p->options.kernel[i];
        at.first[i] = at.first[i] < 0 ? 0 : at.first[i];
        at.end[i] = at.end[i] > p->sizes[i] ? p->sizes[i] : at.end[i];
    }
    return at;
}

static float divisor(const pooling *p, const bounds *at)
{
    const int64_t there = (at->end[0] - at->first[0]) * (at->end[1] - at->first[1]);
    return (float)(p->options.exclude_padding ? there
                                              : p->options.kernel[0] * p->options.kernel[1]);
}

/* The first of the largest elements; a NaN is larger than all. -1: there is no element. */
static int64_t first_maximum(const pooling *p, const bounds *at, const float *plane)
{
    int64_t best = -1;
    for (int64_t y = at->first[0]; y < at->end[0]; y++)
        for (int64_t x = at->first[1]; x < at->end[1]; x++) {
            const int64_t here = y * p->sizes[1] + x;
            if (best < 0 ||
                (!isnan(plane[best]) && (isnan(plane[here]) || plane[here] > plane[best])))
                best = here;
        }
    return best;
}

static float pool_window(const pooling *p, const bounds *at, const float *plane)
{
    const int64_t best = first_maximum(p, at, plane);
    if (p->maximum)
        return best < 0 ? -INFINITY : plane[best];
    float sum = 0;
    for (int64_t y = at->first[0]; y < at->end[0]; y++)
        for (int64_t x = at->first[1]; x < at->end[1]; x++)
            sum += plane[y * p->sizes[1] + x];
    return sum / divisor(p, at);
}

static void give_window(const pooling *p, const bounds *at, const float *plane, float dy,
                        float *gradient)
{
    const int64_t best = first_maximum(p, at, plane);
    if (p->maximum && best >= 0)
        gradient[best] += dy;
    for (int64_t y = at->first[0]; !p->maximum && y < at->end[0]; y++)
        for (int64_t x = at->first[1]; x < at->end[1]; x++)
            gradient[y * p->sizes[1] + x] += dy / divisor(p, at);
}

/* `dy` NULL: the pooled planes, otherwise the gradient. */
static void compute(const pooling *p, const float *values, const float *dy, float *result)
{
    const int64_t size = p->sizes[0] * p->sizes[1];
    for (int64_t i = 0; dy != NULL && i < p->planes * size; i++)
        result[i] = 0;
    for (int64_t plane = 0; plane < p->planes; plane++)
        for (int64_t row = 0; row < p->pooled[0]; row++)
            for (int64_t column = 0; column < p->pooled[1]; column++) {
                const bounds at = window_at(p, row, column);
                const int64_t element = (plane * p->pooled[0] + row) * p->pooled[1] + column;
                if (dy == NULL)
                    result[element] = pool_window(p, &at, values + plane * size);
                else
                    give_window(p, &at, values + plane * size, dy[element], result + plane * size);
            }
}

/* ---- cases ---- */

static bool same(float a, float b)
{
    return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

static void fill(kernel_case *one, uint64_t seed)
{
    for (int n = 0; n < one->node_count; n++) {
        if (one->values[n] == NULL)
            continue;
        float *values = one->values[n];
        for (int64_t e = 0; e < cse_shape_elements(one->nodes[n]->shape); e++) {
            uint32_t counter[4] = { (uint32_t)e, (uint32_t)n, 3, 0 }, words[4];
            cse_philox(seed, counter, words);
            const float plain = (float)(words[1] % 1000) / 7 - 70;
            /* Most seeds have few special values: a NaN hides what is summed with it. */
            values[e] = words[2] % (seed % 4 == 0 ? 1 : 16) == 0 ? palette[words[0] % 10] : plain;
        }
    }
}

static void compare(const pooling *p, kernel_case *one, cse_node *result, const char *way)
{
    const int64_t count = cse_shape_elements(result->shape);
    float *expected = cse_aligned_calloc((size_t)count * sizeof(float) + 64);
    float *computed = cse_aligned_calloc((size_t)count * sizeof(float) + 64);
    cse_kernel *kernel;
    setenv("CSE_POOL2D", way, 1);
    ck_assert_msg(cse_kernel_new(one->graph, &one->graph->groups[0], &kernel) == CSE_OK, "%s",
                  cse_error_message());
    unsetenv("CSE_POOL2D");
    for (uint64_t seed = 0; seed < 5; seed++) {
        fill(one, seed);
        compute(p, one->values[0], result->input_count > 1 ? one->values[1] : NULL, expected);
        kernel_case_run(one, kernel, (int)seed % 3, computed);
        for (int64_t e = 0; e < count; e++)
            cse_expect(same(expected[e], computed[e]),
                       "%s (%s), planes of %lld x %lld, kernel %lld x %lld, stride %lld x %lld, "
                       "padding %lld x %lld, element %lld: %g, expected %g",
                       result->op->name, kernel->implementation, (long long)p->sizes[0],
                       (long long)p->sizes[1], (long long)p->options.kernel[0],
                       (long long)p->options.kernel[1], (long long)p->options.stride[0],
                       (long long)p->options.stride[1], (long long)p->options.padding[0],
                       (long long)p->options.padding[1], (long long)e, (double)computed[e],
                       (double)expected[e]);
    }
    cse_kernel_destroy(&kernel);
    free(expected);
    free(computed);
}

/* One op in all ways; a way that does not fit leaves the choice to the kernel. */
static void check_op(const pooling *p, bool gradient)
{
    kernel_case one;
    kernel_case_begin(&one);
    const cse_shape shape = cse_shape_of(1, p->planes, p->sizes[0], p->sizes[1]);
    cse_node *x = kernel_case_leaf(&one, shape, CSE_FLOAT32), *dy = NULL;
    if (gradient)
        dy = kernel_case_leaf(&one, cse_shape_of(1, p->planes, p->pooled[0], p->pooled[1]),
                              CSE_FLOAT32);
    cse_node *y = p->maximum ? cse_max_pool2d(x, &p->options) : cse_avg_pool2d(x, &p->options);
    if (gradient)
        y = p->maximum ? cse_max_pool2d_gradient(x, dy, y) : cse_avg_pool2d_gradient(x, dy, y);
    kernel_case_add(&one, y);
    kernel_case_close(&one);
    for (size_t way = 0; way < sizeof ways / sizeof ways[0]; way++)
        compare(p, &one, y, ways[way]);
    kernel_case_end(&one);
}

/* Both ops and their gradients. */
static void check_all(pooling *p)
{
    for (int i = 0; i < 2; i++)
        p->pooled[i] = (p->sizes[i] + 2 * p->options.padding[i] - p->options.kernel[i]) /
                           p->options.stride[i] +
                       1;
    for (int op = 0; op < 4; op++) {
        p->maximum = op / 2 != 0;
        check_op(p, op % 2 != 0);
    }
}

static int64_t draw(uint64_t seed, uint32_t what, int64_t low, int64_t high)
{
    uint32_t counter[4] = { what, 0, 11, 0 }, words[4];
    cse_philox(seed, counter, words);
    return low + words[0] % (high - low + 1);
}

START_TEST(random_windows_are_as_plain_loops)
{
    const uint64_t seed = (uint64_t)_i;
    pooling p = { .planes = draw(seed, 0, 1, 4) };
    p.options.exclude_padding = draw(seed, 1, 0, 1) != 0;
    for (uint32_t i = 0; i < 2; i++) {
        p.options.kernel[i] = draw(seed, 10 + i, 1, 7);
        p.options.stride[i] = draw(seed, 20 + i, 1, 9);
        p.options.padding[i] = draw(seed, 30 + i, 0, p.options.kernel[i] / 2);
        const int64_t least = p.options.kernel[i] - 2 * p.options.padding[i];
        p.sizes[i] = draw(seed, 40 + i, least > 0 ? least : 1, i == 0 ? 20 : 70);
    }
    check_all(&p);
}
END_TEST

/* Kernel, stride, padding (rows, columns), sizes. */
static const int64_t chosen[][8] = {
    { 2, 2, 2, 2, 0, 0, 4, 6 },    { 2, 2, 2, 2, 0, 0, 5, 7 },   { 2, 2, 2, 2, 0, 0, 2, 2 },
    { 2, 2, 2, 2, 0, 0, 3, 2 },    { 2, 2, 2, 2, 0, 0, 12, 33 }, { 2, 2, 2, 2, 0, 0, 4, 64 },
    { 2, 2, 2, 2, 0, 0, 3, 131 },  { 2, 2, 1, 1, 0, 0, 5, 34 },  { 3, 3, 1, 1, 1, 1, 14, 14 },
    { 3, 3, 2, 2, 1, 1, 15, 28 },  { 3, 3, 2, 2, 0, 0, 9, 65 },  { 1, 1, 1, 1, 0, 0, 3, 17 },
    { 1, 1, 3, 3, 0, 0, 8, 40 },   { 2, 2, 5, 5, 0, 1, 11, 51 }, { 7, 7, 1, 1, 0, 0, 7, 7 },
    { 9, 40, 1, 1, 4, 20, 3, 30 }, { 40, 3, 1, 1, 20, 1, 9, 9 }, { 100, 100, 1, 1, 50, 50, 5, 5 },
    { 2, 2, 1, 1, 1, 1, 0, 5 },    { 2, 2, 1, 1, 1, 1, 5, 0 },   { 2, 2, 2, 2, 1, 1, 6, 32 },
};

START_TEST(chosen_windows_are_as_plain_loops)
{
    const int64_t *c = chosen[_i];
    for (int exclude = 0; exclude < 2; exclude++) {
        pooling p = { .options = { .kernel = { c[0], c[1] },
                                   .stride = { c[2], c[3] },
                                   .padding = { c[4], c[5] },
                                   .exclude_padding = exclude != 0 },
                      .planes = 3,
                      .sizes = { c[6], c[7] } };
        check_all(&p);
    }
}
END_TEST

/* Padding is never the maximum, even where all else is the least value there is. */
START_TEST(padding_is_never_chosen)
{
    for (size_t way = 0; way < sizeof ways / sizeof ways[0]; way++) {
        kernel_case one;
        kernel_case_begin(&one);
        const cse_pool2d_options options = { .kernel = { 3, 3 },
                                             .stride = { 1, 1 },
                                             .padding = { 1, 1 } };
        cse_node *x = kernel_case_leaf(&one, cse_shape_of(1, 1, 4, 5), CSE_FLOAT32);
        cse_node *dy = kernel_case_leaf(&one, cse_shape_of(1, 1, 4, 5), CSE_FLOAT32);
        cse_node *y = cse_max_pool2d(x, &options);
        kernel_case_add(&one, cse_max_pool2d_gradient(x, dy, y));
        kernel_case_close(&one);
        for (int i = 0; i < 20; i++) {
            ((float *)one.values[0])[i] = -INFINITY;
            ((float *)one.values[1])[i] = 1;
        }
        cse_kernel *kernel;
        setenv("CSE_POOL2D", ways[way], 1);
        ck_assert(cse_kernel_new(one.graph, &one.graph->groups[0], &kernel) == CSE_OK);
        unsetenv("CSE_POOL2D");
        float computed[20];
        kernel_case_run(&one, kernel, 0, computed);
        /* The first element of a window is the one above to the left of its centre, or what of the
         * plane is nearest to it: rows 0 and 1 of windows begin in row 0, likewise columns. */
        for (int row = 0; row < 4; row++)
            for (int column = 0; column < 5; column++) {
                const int rows = row == 0 ? 2 : row < 3 ? 1 : 0;
                const int columns = column == 0 ? 2 : column < 4 ? 1 : 0;
                ck_assert_float_eq(computed[row * 5 + column], (float)(rows * columns));
            }
        cse_kernel_destroy(&kernel);
        kernel_case_end(&one);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pooling");
    TCase *cases = tcase_create("pooling");
    tcase_set_timeout(cases, 60);
    tcase_add_loop_test(cases, random_windows_are_as_plain_loops, 0, 60);
    tcase_add_loop_test(cases, chosen_windows_are_as_plain_loops, 0,
                        (int)(sizeof chosen / sizeof chosen[0]));
    tcase_add_test(cases, padding_is_never_chosen);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
