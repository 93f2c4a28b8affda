/* types: stochastic rounding against its definition in exact double arithmetic, by counting over
 * random numbers, and the random numbers that it uses. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "engine/base/random.h"
#include "engine/base/types/dtype.h"

static const struct {
    cse_dtype dtype;
    int mantissa, bias;
} formats[] = {
    { CSE_BFLOAT16, 7, 127 },
    { CSE_FLOAT16, 10, 15 },
    { CSE_CBFLOAT16, 9, 31 },
};

static const uint32_t extremes[] = { 0, 1, 0x80000000u, 0xffffffffu };

/* Check's own assertions cost too much for millions of cases. */
static void expect_bits(uint32_t got, uint32_t expected, float x, uint32_t random)
{
    if (got != expected)
        ck_abort_msg("%a with %08x: bits %04x, not %04x", (double)x, random, got, expected);
}

static uint32_t next_random(uint32_t *state)
{
    uint32_t words[4];
    const uint32_t counter[4] = { (*state)++, 0, 0, 0 };
    cse_philox(7, counter, words);
    return words[0];
}

START_TEST(values_of_the_format_stay)
{
    cse_dtype dtype = formats[_i].dtype;
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        float value = cse_float_from_format(dtype, (uint16_t)bits);
        for (int r = 0; r < 4; r++) {
            uint16_t back = cse_round_stochastic_to_bits(dtype, value, extremes[r]);
            if (isnan(value)) {
                ck_assert(isnan(cse_float_from_format(dtype, back)));
                ck_assert(isnan(cse_round_stochastic(dtype, value, extremes[r])));
            } else {
                expect_bits(back, bits, value, extremes[r]);
            }
        }
    }
}
END_TEST

/* The definition, with exact operations in double alone. */
static double expected_rounding(int format, float x, uint32_t random)
{
    if (isnan(x) || isinf(x) || x == 0)
        return x;
    int exponent, mantissa = formats[format].mantissa, bias = formats[format].bias;
    double magnitude = fabs((double)x);
    frexp(magnitude, &exponent);
    int unit = (exponent - 1 < 1 - bias ? 1 - bias : exponent - 1) - mantissa;
    double units = ldexp(magnitude, -unit), low = floor(units);
    double fraction = floor((units - low) * 0x1p32);
    double result = ldexp(low + (fraction > (double)random), unit);
    if (result >= ldexp(1, bias + 1))
        result = INFINITY;
    return copysign(result, x);
}

START_TEST(any_float_is_rounded_as_defined)
{
    uint32_t state = 1;
    for (int i = 0; i < 300000; i++) {
        uint32_t bits = next_random(&state), random = next_random(&state);
        /* A third of the values lies around the format's smallest normal value, a third about 1. */
        uint32_t middle = i % 3 == 0 ? 128 - (uint32_t)formats[_i].bias : 127;
        if (i % 3 != 2)
            bits = (bits & 0x807fffffu) | (middle - 12 + (bits >> 23 & 0xff) % 24) << 23;
        float x = cse_float_from_bits(bits);
        double expected = expected_rounding(_i, x, random);
        float found = cse_round_stochastic(formats[_i].dtype, x, random);
        if (isnan(x))
            ck_assert(isnan(found));
        else
            expect_bits(cse_float_bits(found), cse_float_bits((float)expected), x, random);
    }
}
END_TEST

/* Between all neighbours, infinity included: the step from high to low is at F. */
START_TEST(both_neighbours_are_reached)
{
    cse_dtype dtype = formats[_i].dtype;
    uint32_t infinity = cse_round_to_bits(dtype, INFINITY);
    for (uint32_t bits = 0; bits < infinity; bits++) {
        double low = cse_float_from_format(dtype, (uint16_t)bits);
        double high = bits + 1 < infinity ? cse_float_from_format(dtype, (uint16_t)(bits + 1))
                                          : ldexp(1, formats[_i].bias + 1);
        for (uint32_t eighths = 1; eighths < 8; eighths += 2) {
            float x = (float)(low + (high - low) * eighths / 8);
            uint32_t f = eighths << 29;
            expect_bits(cse_round_stochastic_to_bits(dtype, x, 0), bits + 1, x, 0);
            expect_bits(cse_round_stochastic_to_bits(dtype, x, f - 1), bits + 1, x, f - 1);
            expect_bits(cse_round_stochastic_to_bits(dtype, x, f), bits, x, f);
            expect_bits(cse_round_stochastic_to_bits(dtype, -x, f), bits | 0x8000, -x, f);
        }
    }
}
END_TEST

/* Of all 16-bit random numbers, as many go up as the fraction says: the mean is the value. */
START_TEST(the_mean_over_random_numbers_is_the_value)
{
    cse_dtype dtype = formats[_i].dtype;
    uint32_t state = 3, subnormals = 1u << formats[_i].mantissa;
    for (int i = 0; i < 30; i++) {
        uint32_t bits = next_random(&state) % (i < 10 ? subnormals : 0x7000);
        double low = cse_float_from_format(dtype, (uint16_t)bits);
        double high = cse_float_from_format(dtype, (uint16_t)(bits + 1));
        uint32_t part = next_random(&state) % 8192; /* 13 bits: floats in each format */
        float x = (float)(low + (high - low) * part / 8192);
        uint32_t up = 0;
        for (uint32_t random = 0; random < 0x10000; random++) {
            float found = cse_round_stochastic(dtype, x, random << 16);
            if (found != (float)low && found != (float)high)
                ck_abort_msg("%a becomes %a", (double)x, (double)found);
            up += found == (float)high;
        }
        ck_assert_uint_eq(up, part * 8);
    }
}
END_TEST

START_TEST(overflow_goes_by_magnitude)
{
    ck_assert_float_eq(cse_round_stochastic(CSE_FLOAT16, 65519.0f, 0xf7ffffffu), 65504.0f);
    ck_assert_float_eq(cse_round_stochastic(CSE_FLOAT16, 65535.0f, 0xf7ffffffu), INFINITY);
    ck_assert_float_eq(cse_round_stochastic(CSE_FLOAT16, 65536.0f, 0xffffffffu), INFINITY);
    ck_assert_float_eq(cse_round_stochastic(CSE_FLOAT16, -INFINITY, 0), -INFINITY);
    ck_assert_float_eq(cse_round_stochastic(CSE_CBFLOAT16, -4.3e9f, 0xffffffffu), -INFINITY);
    ck_assert_float_eq(cse_round_stochastic(CSE_FLOAT32, 1.1f, 0), 1.1f);
}
END_TEST

/* ---- the random numbers ---- */

static double uniform(uint32_t bits)
{
    return ((double)bits + 0.5) * 0x1p-32 - 0.5;
}

/* The words of neighbours in element, step, stream, first and size: mean 0, variance 1/12, no
 * correlation, within six standard deviations of such means. */
START_TEST(neighbouring_random_numbers_are_unrelated)
{
    enum { COUNT = 1 << 20 };
    const double most = 6 / 12.0 / sqrt(COUNT);
    uint64_t key = cse_hash_key(5, 100, 9, 4, 2);
    const uint64_t others[] = { cse_hash_key(5, 101, 9, 4, 2), cse_hash_key(5, 100, 10, 4, 2),
                                cse_hash_key(5, 100, 9, 5, 2), cse_hash_key(5, 100, 9, 4, 1),
                                cse_hash_key(6, 100, 9, 4, 2) };
    double mean = 0, variance = 0, products[8] = { 0 };
    for (uint32_t e = 0; e < COUNT; e++) {
        double u = uniform(cse_hash_bits(key, e));
        mean += u / COUNT;
        variance += u * u / COUNT;
        for (int k = 0; k < 5; k++)
            products[k] += u * uniform(cse_hash_bits(others[k], e)) / COUNT;
        for (int k = 0; k < 3; k++)
            products[5 + k] += u * uniform(cse_hash_bits(key, e + (1u << 4 * k))) / COUNT;
    }
    ck_assert_double_le(fabs(mean), 6 / sqrt(12.0 * COUNT));
    ck_assert_double_le(fabs(variance - 1 / 12.0), 6 * sqrt(1 / 180.0 / COUNT));
    for (int k = 0; k < 8; k++)
        ck_assert_double_le(fabs(products[k]), most);
}
END_TEST

/* Chi-square over 256 classes of each byte: 255 degrees of freedom, standard deviation 22.6. */
START_TEST(each_byte_of_a_random_number_is_even)
{
    enum { COUNT = 1 << 20 };
    static int counts[4][256];
    uint64_t key = cse_hash_key(1, 2, 3, 4, 5);
    for (uint32_t e = 0; e < COUNT; e++)
        for (int b = 0; b < 4; b++)
            counts[b][cse_hash_bits(key, e) >> 8 * b & 0xff]++;
    for (int b = 0; b < 4; b++) {
        double chi = 0;
        for (int c = 0; c < 256; c++)
            chi += pow(counts[b][c] - COUNT / 256.0, 2) / (COUNT / 256.0);
        ck_assert_double_lt(chi, 255 + 6 * 22.6);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stochastic_rounding");
    TCase *cases = tcase_create("stochastic_rounding");
    tcase_set_timeout(cases, 60);
    tcase_add_loop_test(cases, values_of_the_format_stay, 0, 3);
    tcase_add_loop_test(cases, any_float_is_rounded_as_defined, 0, 3);
    tcase_add_loop_test(cases, both_neighbours_are_reached, 0, 3);
    tcase_add_loop_test(cases, the_mean_over_random_numbers_is_the_value, 0, 3);
    tcase_add_test(cases, overflow_goes_by_magnitude);
    tcase_add_test(cases, neighbouring_random_numbers_are_unrelated);
    tcase_add_test(cases, each_byte_of_a_random_number_is_even);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
