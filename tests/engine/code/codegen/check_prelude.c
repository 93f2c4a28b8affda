/* The functions of generated code against the C library in double precision, over floats spread
 * evenly in their bits; special values; and the embedded text against its source. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/types/dtype.h"
#include "engine/code/codegen/prelude.h"
#include "tests/support/expect.h"

extern const char cse_prelude_text[];

/* Distance in units of the last place of the exact result, which is at least the smallest normal.
 */
static double ulps(float got, double exact)
{
    if (isnan(exact))
        return isnan(got) ? 0 : INFINITY;
    if (fabs(exact) >= 0x1.ffffffp127)
        return isinf(got) && (got > 0) == (exact > 0) ? 0 : fabs(exact) > 0x1p128 ? INFINITY : 1;
    double size = fabs(exact) < 0x1p-126 ? 0x1p-126 : fabs(exact);
    return fabs((double)got - exact) / ldexp(1.0, ilogb(size) - 23);
}

static float negated_sine(float x)
{
    return -cse_sin(-x);
}

static double exact_sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static const struct {
    const char *name;
    float (*function)(float);
    double (*exact)(double);
    float low, high;
    double bound;
} functions[] = {
    { "exp", cse_exp, exp, -103.0f, 88.7f, 1 },
    { "exp, limited", cse_exp_limited, exp, -87.3f, 87.3f, 1 },
    { "exp2, limited", cse_exp2_limited, exp2, -126.0f, 126.0f, 1 },
    { "sigmoid", cse_sigmoid, exact_sigmoid, -87.3f, 87.3f, 3 },
    { "log", cse_log, log, 0x1p-126f, 0x1.fffffep127f, 1 },
    { "tanh, near 0", cse_tanh, tanh, -0.7f, 0.7f, 3 },
    { "tanh", cse_tanh, tanh, -12.0f, 12.0f, 3 },
    { "erf, near 0", cse_erf, erf, -1.1f, 1.1f, 3 },
    { "erf", cse_erf, erf, -6.0f, 6.0f, 3 },
    { "log1p, near 0", cse_log1p, log1p, -0.5f, 0.5f, 1 },
    { "log1p", cse_log1p, log1p, -0x1.fffffep-1f, 1e30f, 1 },
    { "expm1, near 0", cse_expm1, expm1, -0.5f, 0.5f, 3 },
    { "expm1", cse_expm1, expm1, -30.0f, 88.7f, 3 },
    { "floor", cse_floor, floor, -1e8f, 1e8f, 0 },
    { "ceil", cse_ceil, ceil, -100.0f, 100.0f, 0 },
    { "round", cse_round, nearbyint, -100.0f, 100.0f, 0 },
    { "sin", cse_sin, sin, -30.0f, 30.0f, 1 },
    { "sin, far", negated_sine, sin, -1e6f, 1e6f, 1 },
    { "cos", cse_cos, cos, -30.0f, 30.0f, 1 },
    { "cos, far", cse_cos, cos, -1e6f, 1e6f, 1 },
    { "sqrt", cse_sqrt, sqrt, 0.0f, 1e30f, 0.5 },
};

START_TEST(functions_are_as_exact_as_they_say)
{
    double worst = 0;
    float worst_at = 0;
    enum { COUNT = 400000 };
    for (int i = 0; i <= COUNT; i++) {
        /* Half of them evenly spaced, half with evenly spaced exponents toward zero. */
        double t = (double)i / COUNT;
        float x = (float)((double)functions[_i].low +
                          t * ((double)functions[_i].high - (double)functions[_i].low));
        if (i % 2)
            x = x * (float)ldexp(1.0, -(i / 2) % 100);
        if (x < functions[_i].low)
            continue;
        double error = ulps(functions[_i].function(x), functions[_i].exact((double)x));
        if (error > worst) {
            worst = error;
            worst_at = x;
        }
    }
    ck_assert_msg(worst <= functions[_i].bound, "%s: %.2f ulp at %.9g; %.2f is promised",
                  functions[_i].name, worst, (double)worst_at, functions[_i].bound);
}
END_TEST

/* Errors relative to max(1, |x|), for functions that cross zero or end in a tail. */
static double exact_normal(double x)
{
    return 0.5 * erfc(-x * M_SQRT1_2);
}

static double exact_silu(double x)
{
    return x / (1 + exp(-x));
}

static double exact_silu_slope(double x)
{
    double s = 1 / (1 + exp(-x));
    return s * (1 + x / (1 + exp(x)));
}

static double gelu_exact(double x)
{
    return x * exact_normal(x);
}

static double gelu_exact_slope(double x)
{
    return exact_normal(x) + x * exp(-0.5 * x * x) / sqrt(2 * M_PI);
}

static double gelu_tanh(double x)
{
    return x * exact_sigmoid(2 * sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
}

static double gelu_tanh_slope(double x)
{
    double twice = 2 * sqrt(2 / M_PI), u = twice * (x + 0.044715 * x * x * x);
    double s = exact_sigmoid(u);
    return s + x * s * exact_sigmoid(-u) * twice * (1 + 3 * 0.044715 * x * x);
}

START_TEST(activations_and_their_slopes_are_as_exact_as_they_say)
{
    static const struct {
        const char *name;
        float (*function)(float);
        double (*exact)(double);
        double left, right; /* limits far from zero, the right one as a multiple of x if `grows` */
        bool grows;
    } activations[] = {
        { "silu", cse_silu, exact_silu, 0, 1, true },
        { "silu's slope", cse_silu_slope, exact_silu_slope, 0, 1, false },
        { "gelu", cse_gelu_exact, gelu_exact, 0, 1, true },
        { "gelu's slope", cse_gelu_exact_slope, gelu_exact_slope, 0, 1, false },
        { "gelu by tanh", cse_gelu_tanh, gelu_tanh, 0, 1, true },
        { "gelu by tanh, slope", cse_gelu_tanh_slope, gelu_tanh_slope, 0, 1, false },
    };
    const char *name = activations[_i].name;
    float (*function)(float) = activations[_i].function;
    for (int i = -400000; i <= 400000; i++) {
        float x = (float)i * (i % 3 ? 2e-5f : 2e-4f);
        double exact = activations[_i].exact((double)x), got = (double)function(x);
        cse_expect(fabs(got - exact) <= 4e-7 * fmax(1, fabs((double)x)),
                   "%s of %.9g: %.9g, not %.9g", name, (double)x, got, exact);
    }
    for (float x = 20; x < 3e38f; x *= 1.7f) {
        double far = activations[_i].right * (activations[_i].grows ? (double)x : 1);
        cse_expect(fabs((double)function(x) - far) <= 4e-7 * far, "%s of %g", name, (double)x);
        cse_expect(fabs((double)function(-x)) < 1e-6 * (activations[_i].grows ? (double)x : 1),
                   "%s of %g", name, (double)-x);
    }
    ck_assert(isnan(function(NAN)) && isnan(function(-NAN)));
}
END_TEST

/* The same functions over an array, compiled for each instruction set as the step is. */
enum { LANES_COUNT = 4096 };

#define ALL_FUNCTIONS(name, features)                                             \
    __attribute__((target(features), optimize("O3"), noinline)) static void name( \
        const float *restrict x, float *restrict y)                               \
    {                                                                             \
        for (int i = 0; i < LANES_COUNT; i++) {                                   \
            y[i] = cse_exp(x[i]);                                                 \
            y[LANES_COUNT + i] = cse_tanh(x[i]);                                  \
            y[2 * LANES_COUNT + i] = cse_erf(x[i]);                               \
            y[3 * LANES_COUNT + i] = cse_silu(x[i]) + cse_silu_slope(x[i]);       \
        }                                                                         \
        for (int i = 0; i < LANES_COUNT; i++) {                                   \
            y[4 * LANES_COUNT + i] = cse_gelu_tanh(x[i]);                         \
            y[5 * LANES_COUNT + i] = cse_gelu_tanh_slope(x[i]);                   \
            y[6 * LANES_COUNT + i] = cse_gelu_exact(x[i]);                        \
            y[7 * LANES_COUNT + i] = cse_gelu_exact_slope(x[i]);                  \
        }                                                                         \
    }
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
ALL_FUNCTIONS(functions_of_avx2, "avx2,fma")
ALL_FUNCTIONS(functions_of_avx512, "avx2,fma,avx512f,avx512dq,avx512bw,avx512vl")
ALL_FUNCTIONS(functions_of_baseline, "sse2")

START_TEST(every_instruction_set_computes_the_same_bits)
{
    enum { VALUES = 8 * LANES_COUNT };
    float x[LANES_COUNT], *y[3];
    for (int i = 0; i < LANES_COUNT; i++)
        x[i] = (i % 2 ? -1.0f : 1.0f) * (float)ldexp(1 + (i % 61) / 64.0, i % 40 - 30);
    for (int k = 0; k < 3; k++)
        y[k] = calloc(VALUES, sizeof *y[k]);
    functions_of_baseline(x, y[0]);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        functions_of_avx2(x, y[1]);
        ck_assert_mem_eq(y[1], y[0], VALUES * sizeof **y);
    }
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
        functions_of_avx512(x, y[2]);
        ck_assert_mem_eq(y[2], y[0], VALUES * sizeof **y);
    }
    for (int k = 0; k < 3; k++)
        free(y[k]);
}
END_TEST
#endif

START_TEST(rsqrt_is_as_exact_as_it_says)
{
    for (float x = 0x1p-100f; x < 0x1p100f; x *= 1.0009f)
        cse_expect(ulps(cse_rsqrt(x), 1.0 / sqrt((double)x)) <= 1.5, "rsqrt(%a)", (double)x);
}
END_TEST

START_TEST(pow_is_as_exact_as_it_says)
{
    for (int i = 0; i < 1000; i++)
        for (int k = 0; k < 200; k++) {
            float x = expf((float)(i - 500) * 0.02f), y = (float)(k - 100) * 0.31f;
            cse_expect(ulps(cse_pow(x, y), pow((double)x, (double)y)) <= 1, "pow(%a, %a)",
                       (double)x, (double)y);
        }
    static const float values[] = { 0.0f,     -0.0f,     1.0f, -1.0f, 2.0f,  -2.0f,
                                    0.5f,     -0.5f,     3.0f, -3.0f, 2.5f,  -2.5f,
                                    INFINITY, -INFINITY, NAN,  1e30f, -1e30f };
    enum { VALUES = sizeof values / sizeof values[0] };
    for (int i = 0; i < VALUES; i++)
        for (int k = 0; k < VALUES; k++) {
            float got = cse_pow(values[i], values[k]);
            double exact = pow((double)values[i], (double)values[k]);
            cse_expect(ulps(got, exact) <= 1, "pow(%g, %g) is %g, should be %g", (double)values[i],
                       (double)values[k], (double)got, exact);
        }
}
END_TEST

START_TEST(special_values_are_as_in_c)
{
    ck_assert_float_eq(cse_exp(-INFINITY), 0.0f);
    ck_assert(isinf(cse_exp(INFINITY)) && isinf(cse_exp(89.0f)) && isnan(cse_exp(NAN)));
    ck_assert(isnan(cse_exp(-NAN)) && isnan(cse_sigmoid(-NAN)) && isnan(cse_tanh(-NAN)));
    ck_assert_float_eq(cse_exp(0.0f), 1.0f);
    ck_assert_float_eq(cse_exp(-1e30f), 0.0f);
    ck_assert_float_eq(cse_sigmoid(INFINITY), 1.0f);
    ck_assert_float_le(cse_sigmoid(-INFINITY), 0x1p-125f);
    ck_assert(isinf(cse_log(0.0f)) && cse_log(0.0f) < 0 && isnan(cse_log(-1.0f)));
    ck_assert(isinf(cse_log(INFINITY)) && isnan(cse_log(NAN)));
    ck_assert_double_le(ulps(cse_log(0x1p-149f), log(0x1p-149)), 1);
    ck_assert_float_eq(cse_tanh(INFINITY), 1.0f);
    ck_assert_float_eq(cse_tanh(-INFINITY), -1.0f);
    ck_assert(isnan(cse_tanh(NAN)) && signbit(cse_tanh(-0.0f)));
    ck_assert_float_eq(cse_erf(INFINITY), 1.0f);
    ck_assert_float_eq(cse_erf(-INFINITY), -1.0f);
    ck_assert(isnan(cse_erf(NAN)) && signbit(cse_erf(-0.0f)));
    ck_assert(isnan(cse_sin(INFINITY)) && isnan(cse_cos(NAN)));
    ck_assert(isinf(cse_log1p(-1.0f)) && isnan(cse_log1p(-1.5f)) && isnan(cse_log1p(NAN)));
    ck_assert(isinf(cse_log1p(INFINITY)) && signbit(cse_log1p(-0.0f)));
    ck_assert(isinf(cse_expm1(INFINITY)) && isnan(cse_expm1(NAN)) && signbit(cse_expm1(-0.0f)));
    ck_assert_float_eq(cse_expm1(-INFINITY), -1.0f);
    ck_assert(isnan(cse_floor(NAN)) && isinf(cse_ceil(INFINITY)) && signbit(cse_round(-0.4f)));
    ck_assert_float_eq(cse_round(2.5f), 2.0f);
    ck_assert_float_eq(cse_round(-1.5f), -2.0f);
}
END_TEST

/* All quarters and both axes, equal sizes, and the special cases of C's atan2. */
START_TEST(angles_are_those_of_c)
{
    const float sizes[] = { 0.0f, 0x1p-149f, 1e-20f, 0.3f, 1.0f, 3.0f, 1e20f, INFINITY };
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    for (int i = 0; i < 4 * SIZES * SIZES; i++) {
        float y = sizes[i % SIZES] * (i / (SIZES * SIZES) % 2 ? -1.0f : 1.0f);
        float x = sizes[i / SIZES % SIZES] * (i / (2 * SIZES * SIZES) ? -1.0f : 1.0f);
        cse_expect(ulps(cse_atan2(y, x), atan2((double)y, (double)x)) <= 3, "atan2(%g, %g) is %.9g",
                   (double)y, (double)x, (double)cse_atan2(y, x));
    }
    for (int i = 0; i < 200000; i++) {
        double angle = 3.14159 * (i / 100000.0 - 1), size = exp(i % 41 - 20);
        float y = (float)(size * sin(angle)), x = (float)(size * cos(angle));
        cse_expect(ulps(cse_atan2(y, x), atan2((double)y, (double)x)) <= 3, "atan2(%g, %g) is %.9g",
                   (double)y, (double)x, (double)cse_atan2(y, x));
    }
    ck_assert(isnan(cse_atan2(NAN, 1.0f)) && isnan(cse_atan2(1.0f, NAN)));
}
END_TEST

/* Integers around 0 and at the ends, against quotients in double. */
START_TEST(integers_are_divided_as_in_python)
{
    const int32_t values[] = { INT32_MIN, -7, -6, -2, -1, 0, 1, 2, 3, 6, 7, INT32_MAX };
    enum { VALUES = sizeof values / sizeof values[0] };
    for (int i = 0; i < VALUES * VALUES; i++) {
        int32_t a = values[i % VALUES], b = values[i / VALUES];
        int64_t quotient = b == 0 ? 0 : (int64_t)floor((double)a / (double)b);
        ck_assert_int_eq(cse_floor_divide(a, b), (int32_t)(uint32_t)quotient);
        ck_assert_int_eq(cse_remainder(a, b), a - quotient * b);
    }
}
END_TEST

/* The 16-bit formats against the general routines, which are tested over all values: every stored
 * value, and a million floats from everywhere and from around the values' middles. */
START_TEST(narrow_formats_are_those_of_the_library)
{
    static const struct {
        cse_dtype dtype;
        float (*load)(uint16_t bits);
        uint16_t (*store)(float x), (*store_rounded)(float x);
        float (*round)(float x);
    } formats[] = { { CSE_BFLOAT16, cse_load_bfloat16, cse_store_bfloat16,
                      cse_store_rounded_bfloat16, cse_round_bfloat16 },
                    { CSE_FLOAT16, cse_load_float16, cse_store_float16, cse_store_rounded_float16,
                      cse_round_float16 },
                    { CSE_CBFLOAT16, cse_load_cbfloat16, cse_store_cbfloat16,
                      cse_store_rounded_cbfloat16, cse_round_cbfloat16 } };
    const cse_dtype dtype = formats[_i].dtype;
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        float expected = cse_float_from_format(dtype, (uint16_t)bits);
        float got = formats[_i].load((uint16_t)bits);
        cse_expect((isnan(expected) && isnan(got)) ||
                       cse_float_bits(expected) == cse_float_bits(got),
                   "load %04x: %a, should be %a", bits, (double)got, (double)expected);
        uint16_t again = formats[_i].store_rounded(expected);
        cse_expect(again == bits || (isnan(expected) && isnan(cse_float_from_format(dtype, again))),
                   "%a, which is %04x, is stored as %04x", (double)expected, bits, again);
    }
    uint32_t random = 1;
    for (int i = 0; i < 1000000; i++) {
        random = random * 1664525u + 1013904223u;
        float x = cse_float_from_bits(random);
        if (i & 1) /* near the middle between two stored values */
            x = cse_float_from_bits(
                cse_float_bits(cse_float_from_format(dtype, (uint16_t)(random >> 16))) +
                (1u << 12) + (random >> 8 & 3) - 1);
        uint16_t expected = cse_round_to_bits(dtype, x), got = formats[_i].store(x);
        cse_expect(expected == got || isnan(x), "store %a: %04x, should be %04x", (double)x, got,
                   expected);
        float rounded = formats[_i].round(x), wanted = cse_float_from_format(dtype, expected);
        cse_expect(cse_float_bits(rounded) == cse_float_bits(wanted) ||
                       (isnan(rounded) && isnan(wanted)),
                   "%a is rounded to %a, should be %a", (double)x, (double)rounded, (double)wanted);
    }
}
END_TEST

START_TEST(normal_numbers_are_those_of_the_library)
{
    for (uint32_t element = 0; element < 100000; element++) {
        uint32_t words[4];
        cse_draw_words(7, 3, 11, 2, element, words);
        double exact = cse_normal_from_bits(words[0], words[1]);
        float got = cse_draw_normal(7, 3, 11, 2, element);
        /* Absolute near 0, where the cosine of a rounded angle cancels. */
        cse_expect(fabs((double)got - exact) < 1e-6 * fmax(1, fabs(exact)), "%.9g is not %.17g",
                   (double)got, exact);
    }
}
END_TEST

START_TEST(bfloat16_rounds_to_nearest_even)
{
    ck_assert_uint_eq(cse_store_bfloat16(1.0f), 0x3f80);
    ck_assert_uint_eq(cse_store_bfloat16(cse_from_bits(0x3f808000)), 0x3f80);
    ck_assert_uint_eq(cse_store_bfloat16(cse_from_bits(0x3f818000)), 0x3f82);
    ck_assert_uint_eq(cse_store_bfloat16(cse_from_bits(0x3f808001)), 0x3f81);
    ck_assert(isnan(cse_round_bfloat16(cse_from_bits(0x7f800001))));
    ck_assert(isinf(cse_round_bfloat16(INFINITY)));
}
END_TEST

/* autogen.sh must have been run since the prelude was changed. */
START_TEST(the_embedded_text_is_the_file)
{
    char path[4096], line[512];
    const char *at = cse_prelude_text;
    static const char *const files[] = { "engine/base/random.h", "engine/base/types/narrow.h",
                                         "engine/base/types/dynamic_map.h",
                                         "engine/code/codegen/prelude.h" };
    for (int f = 0; f < 4; f++) {
        snprintf(path, sizeof path, "%s/%s", getenv("top_srcdir") ? getenv("top_srcdir") : "..",
                 files[f]);
        FILE *file = fopen(path, "r");
        ck_assert_msg(file != NULL, "%s", path);
        while (fgets(line, sizeof line, file) != NULL) {
            if (strncmp(line, "#include \"", 10) == 0)
                continue;
            ck_assert_msg(strncmp(at, line, strlen(line)) == 0, "%s: run autogen.sh: %s", path,
                          line);
            at += strlen(line);
        }
        fclose(file);
    }
    ck_assert_int_eq(*at, '\0');
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("prelude");
    TCase *cases = tcase_create("prelude");
    tcase_set_timeout(cases, 60);
    tcase_add_loop_test(cases, functions_are_as_exact_as_they_say, 0,
                        sizeof functions / sizeof functions[0]);
    tcase_add_loop_test(cases, activations_and_their_slopes_are_as_exact_as_they_say, 0, 6);
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
    tcase_add_test(cases, every_instruction_set_computes_the_same_bits);
#endif
    tcase_add_test(cases, rsqrt_is_as_exact_as_it_says);
    tcase_add_test(cases, pow_is_as_exact_as_it_says);
    tcase_add_test(cases, special_values_are_as_in_c);
    tcase_add_test(cases, angles_are_those_of_c);
    tcase_add_test(cases, integers_are_divided_as_in_python);
    tcase_add_loop_test(cases, narrow_formats_are_those_of_the_library, 0, 3);
    tcase_add_test(cases, normal_numbers_are_those_of_the_library);
    tcase_add_test(cases, bfloat16_rounds_to_nearest_even);
    tcase_add_test(cases, the_embedded_text_is_the_file);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
