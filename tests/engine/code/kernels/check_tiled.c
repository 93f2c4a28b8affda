/* Emulated accumulation: kernels give the bits of the straightforward reference, for products and
 * convolutions of many shapes, in each format, stochastic or not, with vectors or without; and the
 * numbers are those that follow from the formats by hand. */
#include "tests/engine/code/kernels/fixture.h"

static const cse_dtype formats[] = { CSE_BFLOAT16, CSE_FLOAT16, CSE_CBFLOAT16 };

/* A product of `one` in which sums are carried as said. */
typedef struct carried {
    cse_dtype dtype; /* of the operands */
    cse_accumulation how;
    bool wide, bias, relu; /* the result is float32; and what follows */
} carried;

static void finish_case(kernel_case *one, cse_node *product, const carried *c)
{
    product->accumulation = c->how;
    if (c->wide)
        product->dtype = CSE_FLOAT32;
    cse_node *last = product;
    if (c->bias) {
        int axis = product->shape.rank == 4 ? 1 : product->shape.rank - 1;
        cse_shape shape = cse_shape_of(product->shape.dims[axis]);
        if (axis == 1 && product->shape.rank == 4)
            shape = cse_shape_of(product->shape.dims[axis], 1, 1);
        cse_node *bias = kernel_case_leaf(one, shape, CSE_FLOAT32);
        kernel_case_add(one, product);
        cse_node *wide = kernel_case_add(one, cse_broadcast_to(bias, product->shape));
        last = kernel_case_add(one, cse_add(product, wide));
    } else {
        kernel_case_add(one, product);
    }
    if (c->relu)
        kernel_case_add(one, cse_relu(last));
    kernel_case_close(one);
}

/* NaN is NaN, whatever its payload. */
static void expect_same(const kernel_case *one, const void *got, const void *expected,
                        const char *name)
{
    const cse_node *last = one->nodes[one->node_count - 1];
    for (int64_t e = 0; e < cse_shape_elements(last->shape); e++) {
        double a = cse_read_element(last->dtype, got, e);
        double b = cse_read_element(last->dtype, expected, e);
        cse_expect((a == b && signbit(a) == signbit(b)) || (isnan(a) && isnan(b)),
                   "%s: element %lld is %.9g, expected %.9g", name, (long long)e, a, b);
    }
}

static void check_case(kernel_case *one, const char *name)
{
    void *expected = kernel_case_reference(one, false);
    void *got = cse_calloc(kernel_case_output_bytes(one) + 1, 1);
    static const char *const codes[] = { "", "avx2", "portable" };
    for (int i = 0; i < 3; i++) {
        cse_kernel *kernel = NULL;
        setenv("CSE_TILED", codes[i], 1);
        ck_assert_msg(cse_kernel_new(one->graph, &one->group, &kernel) == CSE_OK, "%s: %s", name,
                      cse_error_message());
        ck_assert_str_eq(kernel->implementation, "tiled");
        kernel_case_run(one, kernel, i, got);
        expect_same(one, got, expected, name);
        cse_kernel_destroy(&kernel);
    }
    free(got);
    free(expected);
}

static uint32_t draw(uint64_t seed, uint32_t which, uint32_t below)
{
    const uint32_t counter[4] = { which, 1, 2, 3 };
    uint32_t words[4];
    cse_philox(seed, counter, words);
    return words[0] % below;
}

static carried random_carried(uint64_t seed)
{
    static const int32_t lengths[] = { 1, 2, 3, 7, 16, 64, 100 };
    carried c = { .dtype = formats[draw(seed, 0, 3)],
                  .how = { .across = formats[draw(seed, 1, 3)],
                           .stochastic = draw(seed, 2, 2),
                           .emulated = true,
                           .tile_length = lengths[draw(seed, 3, 7)],
                           .stream = draw(seed, 4, UINT32_MAX) },
                  .wide = draw(seed, 5, 3) > 0 };
    c.bias = c.wide && draw(seed, 6, 2);
    c.relu = draw(seed, 7, 2);
    return c;
}

static void prepare(kernel_case *one, uint64_t seed)
{
    kernel_case_begin(one);
    one->seed = seed * 77 + 1;
    one->step = (int64_t)seed + 3;
    one->first_sample = (int64_t)seed * 8;
}

/* Sizes below, at and above what the kernel takes at once: 8 rows, 32 columns, 1024 terms. */
START_TEST(products_are_as_the_reference)
{
    uint64_t seed = (uint64_t)_i;
    const carried c = random_carried(seed);
    int64_t m = 1 + draw(seed, 10, 19), n = 1 + draw(seed, 11, 80), k = 1 + draw(seed, 12, 300);
    int64_t batches = 1 + draw(seed, 13, 3);
    bool transpose_a = draw(seed, 14, 2), transpose_b = draw(seed, 15, 2);
    k = seed % 8 == 7 ? k + 1000 : k;
    kernel_case one;
    prepare(&one, seed);
    cse_shape a = cse_shape_of(batches, transpose_a ? k : m, transpose_a ? m : k);
    cse_shape b = cse_shape_of(batches, transpose_b ? n : k, transpose_b ? k : n);
    cse_node *x = kernel_case_leaf(&one, a, c.dtype), *y = kernel_case_leaf(&one, b, c.dtype);
    finish_case(&one, cse_matmul(x, y, transpose_a, transpose_b), &c);
    kernel_case_draw(&one, seed, -1, seed % 2 ? 1 : 3);
    check_case(&one, "product");
    kernel_case_end(&one);
}
END_TEST

START_TEST(convolutions_are_as_the_reference)
{
    uint64_t seed = 1000 + (uint64_t)_i;
    carried c = random_carried(seed);
    int64_t groups = 1 + draw(seed, 20, 2), in = groups * (1 + draw(seed, 21, 3));
    int64_t out = groups * (1 + draw(seed, 22, 5)), batch = 1 + draw(seed, 23, 2);
    const cse_conv2d_options options = {
        .stride = { 1 + draw(seed, 24, 2), 1 + draw(seed, 25, 2) },
        .padding = { draw(seed, 26, 2), draw(seed, 27, 3) },
        .dilation = { 1 + draw(seed, 28, 2), 1 },
        .groups = groups,
    };
    kernel_case one;
    prepare(&one, seed);
    cse_shape x = cse_shape_of(batch, in, 7, 6), w = cse_shape_of(out, in / groups, 3, 2);
    cse_node *input = kernel_case_leaf(&one, x, c.dtype);
    cse_node *weight = kernel_case_leaf(&one, w, c.dtype);
    cse_node *forward = cse_conv2d(input, weight, NULL, &options), *product = forward;
    if (_i % 3 > 0) {
        cse_node *dy = kernel_case_leaf(&one, forward->shape, c.dtype);
        c.bias = c.relu = false;
        product = _i % 3 == 1 ? cse_conv2d_gradient_input(weight, dy, x, forward)
                              : cse_conv2d_gradient_weight(input, dy, w, forward);
    }
    finish_case(&one, product, &c);
    kernel_case_draw(&one, seed, -1, 2);
    check_case(&one, product->op->name);
    kernel_case_end(&one);
}
END_TEST

/* One product of ones, [3, terms] x [terms, 5]: its elements, which must agree, or their mean. */
static double sum_of_ones(int64_t terms, cse_accumulation how, uint64_t seed, int64_t sample)
{
    kernel_case one;
    prepare(&one, 1);
    one.seed = seed;
    one.first_sample = sample;
    how.emulated = true;
    const carried c = { .dtype = CSE_BFLOAT16, .how = how, .wide = true };
    cse_node *a = kernel_case_leaf(&one, cse_shape_of(3, terms), c.dtype);
    cse_node *b = kernel_case_leaf(&one, cse_shape_of(terms, 5), c.dtype);
    finish_case(&one, cse_matmul(a, b, false, false), &c);
    kernel_case_draw(&one, 1, 1, 1);
    float got[15];
    cse_kernel *kernel;
    ck_assert_int_eq(cse_kernel_new(one.graph, &one.group, &kernel), CSE_OK);
    kernel_case_run(&one, kernel, 0, got);
    for (int e = 1; e < 15 && !how.stochastic; e++)
        ck_assert_float_eq(got[e], got[0]);
    double mean = how.stochastic ? 0 : (double)got[0];
    for (int e = 0; e < 15 && how.stochastic; e++)
        mean += (double)got[e] / 15;
    cse_kernel_destroy(&kernel);
    kernel_case_end(&one);
    return mean;
}

/* A sum of ones stops where 1 is half of the distance to the next value and the tie goes to the
 * even one, itself: at 2^(explicit mantissa bits + 1). */
static const int stops[] = { 256, 2048, 1024 };

START_TEST(a_sequential_sum_of_ones_stops)
{
    const cse_accumulation how = { .across = formats[_i], .tile_length = 1 };
    ck_assert_double_eq(sum_of_ones(stops[_i], how, 1, 0), stops[_i]);
    ck_assert_double_eq(sum_of_ones(stops[_i] - 1, how, 1, 0), stops[_i] - 1);
    ck_assert_double_eq(sum_of_ones(2 * stops[_i], how, 1, 0), stops[_i]);
    ck_assert_double_eq(sum_of_ones(4096, how, 1, 0), stops[_i]);
}
END_TEST

/* Tiles of 64 ones are exact, and so is every multiple of 64 up to 64 times where ones stop;
 * float16 ends before that: 65472 is its last such multiple, 65536 rounds to infinity. */
START_TEST(tiles_of_64_cure_it)
{
    const cse_accumulation how = { .across = formats[_i], .tile_length = 64 };
    ck_assert_double_eq(sum_of_ones(4096, how, 1, 0), 4096);
    if (formats[_i] == CSE_FLOAT16) {
        ck_assert_double_eq(sum_of_ones(65472, how, 1, 0), 65472);
        ck_assert_double_eq(sum_of_ones(65536, how, 1, 0), INFINITY);
        return;
    }
    ck_assert_double_eq(sum_of_ones(64 * stops[_i], how, 1, 0), 64.0 * stops[_i]);
    ck_assert_double_eq(sum_of_ones(128 * stops[_i], how, 1, 0), 64.0 * stops[_i]);
}
END_TEST

/* Stochastic rounding is unbiased: where the distance between neighbours is u, adding 1 goes up by
 * u with probability 1/u, a variance of u - 1 a step. Sequential: N = 4096 additions in bfloat16
 * pass through spans [s, 2 s) with u = s / 128, s additions in each: the variance is the sum of s
 * (s / 128 - 1) for s = 256, 512, 1024, 2048, about 39000 (standard deviation 198). The mean of 15
 * elements deviates by 51 in the mean square; five times that is 256. */
START_TEST(stochastic_rounding_cures_it)
{
    const cse_accumulation how = {
        .across = CSE_BFLOAT16, .stochastic = true, .tile_length = 1, .stream = 9
    };
    double sum = sum_of_ones(4096, how, (uint64_t)_i, 0);
    ck_assert_msg(fabs(sum - 4096) < 256, "the sum is %g", sum);
    ck_assert(sum != 4096);
}
END_TEST

/* The random numbers are those of (seed, stream, sample), nothing else. */
START_TEST(random_numbers_have_a_place)
{
    cse_accumulation how = { .across = CSE_BFLOAT16, .stochastic = true, .tile_length = 1 };
    double first = sum_of_ones(4096, how, 5, 8);
    ck_assert_double_eq(sum_of_ones(4096, how, 5, 8), first);
    ck_assert_double_ne(sum_of_ones(4096, how, 6, 8), first);
    ck_assert_double_ne(sum_of_ones(4096, how, 5, 16), first);
    how.stream = 1;
    ck_assert_double_ne(sum_of_ones(4096, how, 5, 8), first);
}
END_TEST

/* ---- sums of values uniform with mean 1 and standard deviation 1 ---- */

enum { DRAWS = 32 };

/* Fills errors relative to the exact sums of the same 16-bit values, and the sums. */
static void sum_values(cse_dtype format, cse_accumulation how, int64_t count, double sums[DRAWS],
                       double errors[DRAWS])
{
    kernel_case one;
    prepare(&one, 1);
    how.across = format;
    how.emulated = true;
    const carried c = { .dtype = format, .how = how, .wide = true };
    cse_node *a = kernel_case_leaf(&one, cse_shape_of(DRAWS, count), format);
    cse_node *b = kernel_case_leaf(&one, cse_shape_of(count, 1), format);
    finish_case(&one, cse_matmul(a, b, false, false), &c);
    kernel_case_draw(&one, 4, 1 - sqrt(3), 1 + sqrt(3));
    for (int64_t i = 0; i < count; i++)
        cse_write_element(format, one.values[1], i, 1);
    float got[DRAWS];
    cse_kernel *kernel;
    ck_assert_int_eq(cse_kernel_new(one.graph, &one.group, &kernel), CSE_OK);
    kernel_case_run(&one, kernel, 0, got);
    for (int d = 0; d < DRAWS; d++) {
        double exact = 0;
        for (int64_t i = 0; i < count; i++)
            exact += cse_read_element(format, one.values[0], d * count + i);
        sums[d] = (double)got[d];
        errors[d] = (sums[d] - exact) / exact;
    }
    cse_kernel_destroy(&kernel);
    kernel_case_end(&one);
}

/* No value exceeds 1 + sqrt(3) = 2.73. A sum to nearest stands still once half of the distance to
 * its next value is more: from 2^10 on in bfloat16 (half of 2^3), 2^12 in cbfloat16, 2^13 in
 * float16. Tiles of 64 have sums of 64 +- 8: in bfloat16 they stand still at 2^15 (half of 2^8). */
START_TEST(sums_of_values_stand_still)
{
    static const struct {
        cse_dtype format;
        int32_t length;
        int64_t count;
        double sum;
    } rows[] = {
        { CSE_BFLOAT16, 1, 4096, 1024 },    { CSE_BFLOAT16, 1, 65536, 1024 },
        { CSE_CBFLOAT16, 1, 65536, 4096 },  { CSE_FLOAT16, 1, 65536, 8192 },
        { CSE_BFLOAT16, 64, 65536, 32768 },
    };
    double sums[DRAWS], errors[DRAWS];
    sum_values(rows[_i].format, (cse_accumulation){ .tile_length = rows[_i].length },
               rows[_i].count, sums, errors);
    for (int d = 0; d < DRAWS; d++)
        ck_assert_double_eq(sums[d], rows[_i].sum);
}
END_TEST

/* Adding x to a sum whose neighbours are u > |x| apart has the variance |x| (u - |x|) under
 * stochastic rounding. The mean of |x| is (1 + sqrt(3))^2 + (sqrt(3) - 1)^2 over 4 sqrt(3), 1.1547;
 * of x^2 it is 2. A sum that grows by 1 a step stays s steps in [s, 2 s), where u = s / 2^m. What
 * is left out, spans in which u < 2.73, is below 2 % of the variance. The root mean square of 32
 * draws lies within a factor 1.6 of its mean (four standard deviations of 1 / 8). */
START_TEST(stochastic_sums_err_as_predicted)
{
    static const struct {
        cse_dtype format;
        int64_t count;
        double steps; /* 2^m */
    } rows[] = {
        { CSE_BFLOAT16, 4096, 128 },
        { CSE_BFLOAT16, 65536, 128 },
        { CSE_CBFLOAT16, 65536, 512 },
    };
    double sums[DRAWS], errors[DRAWS], variance = 0, square = 0;
    for (double s = 1; s < (double)rows[_i].count; s *= 2)
        if (s / rows[_i].steps > 2.73)
            variance += s * (1.1547 * s / rows[_i].steps - 2);
    sum_values(rows[_i].format,
               (cse_accumulation){ .tile_length = 1, .stochastic = true, .stream = 2 },
               rows[_i].count, sums, errors);
    for (int d = 0; d < DRAWS; d++)
        square += errors[d] * errors[d] / DRAWS;
    double expected = sqrt(variance) / (double)rows[_i].count;
    ck_assert_msg(sqrt(square) < 1.6 * expected && sqrt(square) > expected / 1.6,
                  "root mean square %.3g, expected %.3g", sqrt(square), expected);
}
END_TEST

/* Tiles of 64 to nearest in cbfloat16: the rounding of a sum whose neighbours are u apart errs by
 * u / sqrt(12) in the mean square, s / 64 times in [s, 2 s); at the greatest sums, where u is the
 * mean of a tile, by less. */
START_TEST(tiles_of_64_err_as_predicted)
{
    static const int64_t counts[] = { 4096, 65536 };
    double sums[DRAWS], errors[DRAWS], variance = 0, square = 0;
    for (double s = 64; s < (double)counts[_i]; s *= 2)
        variance += s / 64 * (s / 512) * (s / 512) / 12;
    sum_values(CSE_CBFLOAT16, (cse_accumulation){ .tile_length = 64 }, counts[_i], sums, errors);
    for (int d = 0; d < DRAWS; d++)
        square += errors[d] * errors[d] / DRAWS;
    double expected = sqrt(variance) / (double)counts[_i];
    ck_assert_msg(sqrt(square) < 2 * expected && sqrt(square) > expected / 4,
                  "root mean square %.3g, expected %.3g", sqrt(square), expected);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tiled");
    TCase *cases = tcase_create("tiled");
    tcase_set_timeout(cases, 60);
    tcase_add_loop_test(cases, products_are_as_the_reference, 0, 64);
    tcase_add_loop_test(cases, convolutions_are_as_the_reference, 0, 36);
    tcase_add_loop_test(cases, a_sequential_sum_of_ones_stops, 0, 3);
    tcase_add_loop_test(cases, tiles_of_64_cure_it, 0, 3);
    tcase_add_loop_test(cases, stochastic_rounding_cures_it, 0, 8);
    tcase_add_test(cases, random_numbers_have_a_place);
    tcase_add_loop_test(cases, sums_of_values_stand_still, 0, 5);
    tcase_add_loop_test(cases, stochastic_sums_err_as_predicted, 0, 3);
    tcase_add_loop_test(cases, tiles_of_64_err_as_predicted, 0, 2);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
