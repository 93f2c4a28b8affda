/* types: the dynamic map against its definition, a table that is made and searched in double. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/random.h"
#include "engine/base/types/dynamic_map.h"

enum { VALUES = 256 };

static int by_value(const void *a, const void *b)
{
    const double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}

/* As published: the middles of equal parts of [0.1, 1], times the decade's power of ten; twice as
 * many without signs, negated copies with them; then 0 and 1. */
static void make_table(int factor, double table[VALUES])
{
    int count = 0;
    for (int decade = 0; decade < 7; decade++) {
        const int parts = factor << decade;
        for (int p = 0; p < parts; p++) {
            const double low = 0.1 + 0.9 * p / parts, high = 0.1 + 0.9 * (p + 1) / parts;
            const double value = pow(10, decade - 6) * (low + high) / 2;
            table[count++] = value;
            if (factor == 1)
                table[count++] = -value;
        }
    }
    table[count++] = 0;
    table[count++] = 1;
    ck_assert_int_eq(count, VALUES);
    qsort(table, VALUES, sizeof *table, by_value);
}

static uint32_t next_random(uint32_t *state)
{
    uint32_t words[4];
    const uint32_t counter[4] = { (*state)++, 0, 0, 0 };
    cse_philox(11, counter, words);
    return words[0];
}

/* A block of these values, whose largest magnitude is 1: codes of the values by themselves. */
static const uint8_t *codes_of(const float values[VALUES], int factor,
                               int32_t words[CSE_BLOCK_WORDS])
{
    cse_quantize_block(values, factor, words);
    return (const uint8_t *)words;
}

START_TEST(codes_stand_for_the_values_of_the_table)
{
    const int factor = _i;
    double table[VALUES];
    float values[VALUES];
    int32_t words[CSE_BLOCK_WORDS];
    make_table(factor, table);
    for (int c = 0; c < VALUES; c++)
        ((uint8_t *)words)[c] = (uint8_t)c;
    words[VALUES / 4] = cse_bits(1);
    cse_dequantize_block(words, factor, values);
    for (int c = 0; c < VALUES; c++)
        ck_assert_msg(fabs((double)values[c] - table[c]) <= 3e-7 * fabs(table[c]),
                      "code %d: %.9g, not %.9g", c, (double)values[c], table[c]);
}
END_TEST

/* What is as near to two values, up to the rounding of float32, may have either code. */
static void expect_nearest(const double table[VALUES], double x, int code)
{
    double least = INFINITY;
    for (int c = 0; c < VALUES; c++)
        least = fmin(least, fabs(x - table[c]));
    if (fabs(x - table[code]) > least + 4e-6 * fabs(x) + 1e-13)
        ck_abort_msg("%.9g: code %d (%.9g) at %.9g, the nearest is at %.9g", x, code, table[code],
                     fabs(x - table[code]), least);
}

START_TEST(the_nearest_code_is_taken)
{
    const int factor = _i;
    double table[VALUES];
    int32_t words[CSE_BLOCK_WORDS];
    uint32_t state = 1;
    make_table(factor, table);
    for (int round = 0; round < 4000; round++) {
        float values[VALUES] = { 1 };
        for (int i = 1; i < VALUES; i++) {
            const double uniform = next_random(&state) / 4294967296.0;
            const int near = (int)(next_random(&state) % (VALUES - 1));
            /* Anywhere, near an edge, small. */
            double x = round % 3 == 0   ? uniform
                       : round % 3 == 1 ? (table[near] + table[near + 1]) / 2 * (1 + 1e-6 * uniform)
                                        : pow(10, -9 * uniform);
            if (factor == 1 && round % 3 != 1 && (next_random(&state) & 1) != 0)
                x = -x;
            values[i] = (float)x;
        }
        const uint8_t *codes = codes_of(values, factor, words);
        for (int i = 0; i < VALUES; i++)
            expect_nearest(table, (double)values[i], codes[i]);
    }
}
END_TEST

START_TEST(values_of_the_map_keep_their_codes)
{
    const int factor = _i;
    float values[VALUES];
    int32_t words[CSE_BLOCK_WORDS], again[CSE_BLOCK_WORDS];
    for (int scale = -120; scale <= 120; scale += 7) {
        for (int c = 0; c < VALUES; c++)
            ((uint8_t *)words)[c] = (uint8_t)c;
        words[VALUES / 4] = cse_bits(ldexpf(1.7f, scale));
        cse_dequantize_block(words, factor, values);
        cse_quantize_block(values, factor, again);
        /* Of the smallest scale the smallest values may be flushed to 0. */
        for (int c = 0; scale > -90 && c < VALUES; c++)
            ck_assert_int_eq(((uint8_t *)again)[c], c);
        ck_assert_int_eq(again[VALUES / 4], words[VALUES / 4]);
    }
}
END_TEST

START_TEST(extremes_are_what_they_were)
{
    float values[VALUES] = { 0 }, back[VALUES];
    int32_t words[CSE_BLOCK_WORDS] = { 0 };
    cse_dequantize_block(words, _i, back);
    for (int i = 0; i < VALUES; i++)
        ck_assert(back[i] == 0);
    cse_quantize_block(values, _i, words);
    cse_dequantize_block(words, _i, back);
    for (int i = 0; i < VALUES; i++)
        ck_assert(back[i] == 0);
    values[3] = 3e38f;
    values[4] = 1e-38f;
    cse_quantize_block(values, _i, words);
    cse_dequantize_block(words, _i, back);
    ck_assert(back[3] == 3e38f && back[4] == 0);
    values[5] = INFINITY;
    cse_quantize_block(values, _i, words);
    ck_assert(isinf(cse_from_bits(words[VALUES / 4])));
    values[6] = NAN;
    cse_quantize_block(values, _i, words);
    cse_dequantize_block(words, _i, back);
    ck_assert(isnan(back[3]) && isnan(back[6]));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dynamic_map");
    TCase *cases = tcase_create("dynamic_map");
    tcase_add_loop_test(cases, codes_stand_for_the_values_of_the_table, 1, 3);
    tcase_add_loop_test(cases, the_nearest_code_is_taken, 1, 3);
    tcase_add_loop_test(cases, values_of_the_map_keep_their_codes, 1, 3);
    tcase_add_loop_test(cases, extremes_are_what_they_were, 1, 3);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
