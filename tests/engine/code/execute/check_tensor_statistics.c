/* Counts of values against a count element by element with the C library's own classification and
 * the conversions of engine/base/types; digests that must differ; records that are merged. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/types/dtype.h"
#include "engine/code/execute/tensor_statistics.h"

enum { MOST = 40000, PART = 3000 };

static uint64_t state = 7;

static uint32_t next_random(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 32);
}

/* All bits, and often the edges: zeros, infinities, NaN, the largest and least of each format. */
static float any_float(void)
{
    static const float edges[] = { 0.0f,     -0.0f,       INFINITY,     -INFINITY, 65504.0f,
                                   65519.0f, 65520.0f,    -65520.0f,    0x1p-24f,  0x1p-25f,
                                   0x1p-26f, 0x1.8p-25f,  0x1.fffp31f,  0x1p32f,   0x1p-39f,
                                   0x1p-40f, 0x1.fep127f, 0x1.fffp127f, 0x1p-126f, 0x1p-133f,
                                   1.0f,     -1.5f,       3e38f,        0x1p-149f };
    uint32_t r = next_random();
    if (r % 4 == 0)
        return edges[next_random() % (sizeof edges / sizeof edges[0])];
    if (r % 31 == 0)
        return nanf("");
    return cse_float_from_bits(r % 3 == 0 ? next_random()
                                          : (next_random() & 0x87ffffffu) |
                                                (100 + next_random() % 50) << 23);
}

/* As values of one tensor are: exponents of a few binades beside each other, about `middle`, among
 * them zeros and what is not finite; a spread of 0 gives one exponent alone. */
static float near_float(int middle, uint32_t spread)
{
    uint32_t r = next_random();
    if (spread > 0 && r % 16 == 0)
        return r % 64 == 0 ? INFINITY : r % 128 == 16 ? nanf("") : -0.0f;
    return cse_float_from_bits((next_random() & 0x807fffffu) |
                               ((uint32_t)middle + next_random() % (spread + 1)) << 23);
}

static float rounded(cse_dtype dtype, float value)
{
    return dtype == CSE_FLOAT32 ? value
                                : cse_float_from_format(dtype, cse_round_to_bits(dtype, value));
}

static bool computes_as_zero(float value)
{
    return fpclassify(value) == FP_ZERO || fpclassify(value) == FP_SUBNORMAL;
}

static void count_plainly(const float *x, int n, cse_dtype dtype, cse_tensor_statistics *plain)
{
    memset(plain, 0, sizeof *plain);
    for (int i = 0; i < n; i++) {
        float y = rounded(dtype, x[i]);
        int exponent = 0;
        frexpf(x[i], &exponent);
        plain->count++;
        plain->nan += isnan(y) != 0;
        plain->infinite += isinf(y) != 0;
        plain->saturated += isfinite(x[i]) && isinf(y);
        plain->flushed += !computes_as_zero(x[i]) && computes_as_zero(y);
        plain->zeros += computes_as_zero(x[i]);
        plain->exponents[computes_as_zero(x[i]) ? 0 : isfinite(x[i]) ? exponent - 1 + 127 : 255]++;
    }
}

static const cse_dtype formats[] = { CSE_FLOAT32, CSE_BFLOAT16, CSE_FLOAT16, CSE_CBFLOAT16 };

START_TEST(counts_are_those_of_a_plain_count)
{
    static float x[MOST];
    const cse_dtype dtype = formats[_i];
    for (int round = 0; round < 40; round++) {
        const int n = (int)(next_random() % (round % 4 == 0 ? MOST : PART));
        const int middle = 1 + (int)(next_random() % 220);
        const uint32_t spread = next_random() % 34;
        cse_tensor_statistics plain, record = { .count = 0 };
        for (int i = 0; i < n; i++)
            x[i] = round % 2 == 1 ? any_float() : near_float(middle, round % 8 == 0 ? 0 : spread);
        count_plainly(x, n, dtype, &plain);
        cse_tensor_statistics_count(
            &record, &(cse_tensor_values){
                         .values = x, .stored = CSE_FLOAT32, .rounded = dtype, .count = n });
        ck_assert_uint_eq(record.count, plain.count);
        ck_assert_uint_eq(record.nan, plain.nan);
        ck_assert_uint_eq(record.infinite, plain.infinite);
        ck_assert_uint_eq(record.saturated, plain.saturated);
        ck_assert_uint_eq(record.flushed, plain.flushed);
        ck_assert_uint_eq(record.zeros, plain.zeros);
        for (int bin = 0; bin < CSE_EXPONENT_BINS; bin++)
            ck_assert_uint_eq(record.exponents[bin], plain.exponents[bin]);
        bool nonfinite = false;
        for (int i = 0; i < n; i++)
            nonfinite = nonfinite || !isfinite(x[i]);
        ck_assert(cse_has_nonfinite(x, n) == nonfinite);
    }
}
END_TEST

START_TEST(stored_16_bit_values_are_read_as_they_are)
{
    static uint16_t stored[PART];
    static float wide[PART];
    const cse_dtype dtype = formats[_i];
    cse_tensor_statistics narrow = { .count = 0 }, plain = { .count = 0 };
    if (dtype == CSE_FLOAT32)
        return;
    for (int i = 0; i < PART; i++) {
        stored[i] = (uint16_t)next_random();
        wide[i] = cse_float_from_format(dtype, stored[i]);
    }
    cse_tensor_statistics_count(
        &narrow,
        &(cse_tensor_values){ .values = stored, .stored = dtype, .rounded = dtype, .count = PART });
    cse_tensor_statistics_count(
        &plain, &(cse_tensor_values){
                    .values = wide, .stored = CSE_FLOAT32, .rounded = CSE_FLOAT32, .count = PART });
    ck_assert(memcmp(&narrow, &plain, sizeof plain) == 0);
    ck_assert_uint_eq(narrow.saturated, 0);
    ck_assert_uint_eq(narrow.flushed, 0);
}
END_TEST

static uint64_t digest_of(const float *x, int n)
{
    return cse_tensor_digest(x, n, 0);
}

START_TEST(digests_tell_a_changed_bit_and_an_exchange)
{
    static float x[PART];
    for (int i = 0; i < PART; i++)
        x[i] = (float)next_random() * 0x1p-31f - 1;
    const uint64_t whole = digest_of(x, PART);
    for (int round = 0; round < 2000; round++) {
        int i = (int)(next_random() % PART), j = (int)(next_random() % PART);
        float kept = x[i];
        x[i] = cse_float_from_bits(cse_float_bits(kept) ^ 1u << next_random() % 32);
        ck_assert(digest_of(x, PART) != whole);
        x[i] = kept;
        if (x[i] == x[j])
            continue;
        x[i] = x[j];
        x[j] = kept;
        ck_assert(digest_of(x, PART) != whole);
        x[j] = x[i];
        x[i] = kept;
    }
    ck_assert_uint_eq(digest_of(x, PART), whole);
}
END_TEST

START_TEST(digests_of_parts_add_up_and_nans_are_alike)
{
    static float x[PART];
    for (int i = 0; i < PART; i++)
        x[i] = any_float();
    cse_tensor_statistics record = { .count = 0 };
    cse_tensor_statistics_count(
        &record, &(cse_tensor_values){
                     .values = x, .stored = CSE_FLOAT32, .rounded = CSE_FLOAT32, .count = PART });
    for (int cut = 0; cut < PART; cut += CSE_DIGEST_BLOCK)
        ck_assert_uint_eq(cse_tensor_digest(x, cut, 0) +
                              cse_tensor_digest(x + cut, PART - cut, cut),
                          record.digest);
    for (int i = 0; i < PART; i++)
        if (isnan(x[i]))
            x[i] = cse_float_from_bits(0xffc01234u);
    ck_assert_uint_eq(digest_of(x, PART), record.digest);
    /* A far index is another one. */
    ck_assert(cse_tensor_digest(x, PART, (int64_t)1 << 33) != record.digest);
    ck_assert(cse_tensor_digest(x, PART, CSE_DIGEST_BLOCK) != record.digest);
    cse_tensor_statistics other = { .count = 0 };
    cse_tensor_statistics_count(
        &other, &(cse_tensor_values){ .values = x, .count = PART, .microbatch = 1 });
    ck_assert(other.digest != record.digest);
}
END_TEST

START_TEST(absorbed_updates_are_those_that_left_a_weight)
{
    float before[200], kept[200], delta[200];
    uint64_t expected = 0;
    for (int i = 0; i < 200; i++) {
        before[i] = 1 + (float)(next_random() % 100);
        delta[i] = next_random() % 3 == 0 ? 0 : ldexpf(1, -(int)(next_random() % 40));
        kept[i] = before[i] - delta[i];
        expected += delta[i] != 0 && kept[i] == before[i];
    }
    ck_assert_uint_gt(expected, 0);
    ck_assert_uint_eq(cse_count_absorbed(before, kept, delta, 200), expected);
    delta[0] = kept[0] = nanf("");
    before[0] = 1;
    ck_assert_uint_le(cse_count_absorbed(before, kept, delta, 200), expected);
}
END_TEST

START_TEST(records_join_to_the_same_in_any_order)
{
    static float x[4][PART];
    cse_tensor_statistics parts[4], forwards = { .count = 0 }, backwards = { .count = 0 };
    memset(parts, 0, sizeof parts);
    for (int p = 0; p < 4; p++) {
        for (int i = 0; i < PART; i++)
            x[p][i] = any_float();
        cse_tensor_statistics_count(&parts[p], &(cse_tensor_values){ .values = x[p],
                                                                     .stored = CSE_FLOAT32,
                                                                     .rounded = CSE_FLOAT16,
                                                                     .count = PART,
                                                                     .microbatch = p });
        parts[p].first_microbatch = p == 0 ? 0 : 7 - p;
    }
    for (int p = 0; p < 4; p++) {
        cse_tensor_statistics_add(&forwards, &parts[p], 1);
        cse_tensor_statistics_add(&backwards, &parts[3 - p], 1);
    }
    ck_assert(memcmp(&forwards, &backwards, sizeof forwards) == 0);
    ck_assert_int_eq(forwards.first_microbatch, 4);
    ck_assert_uint_eq(forwards.count, 4 * PART);
}
END_TEST

START_TEST(the_largest_exponent_is_of_finite_values)
{
    const float x[] = { 0, INFINITY, -48.0f, 0.25f, nanf("") }, zeros[] = { 0, -0.0f };
    cse_tensor_statistics record = { .count = 0 }, none = { .count = 0 };
    cse_tensor_statistics_count(
        &record, &(cse_tensor_values){
                     .values = x, .stored = CSE_FLOAT32, .rounded = CSE_FLOAT32, .count = 5 });
    cse_tensor_statistics_count(
        &none, &(cse_tensor_values){
                   .values = zeros, .stored = CSE_FLOAT32, .rounded = CSE_FLOAT32, .count = 2 });
    ck_assert_int_eq(cse_tensor_statistics_max_exponent(&record), 5); /* 32 <= 48 < 64 */
    ck_assert_int_eq(cse_tensor_statistics_max_exponent(&none), INT32_MIN);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tensor statistics");
    TCase *cases = tcase_create("tensor statistics");
    tcase_add_loop_test(cases, counts_are_those_of_a_plain_count, 0, 4);
    tcase_add_loop_test(cases, stored_16_bit_values_are_read_as_they_are, 0, 4);
    tcase_add_test(cases, digests_tell_a_changed_bit_and_an_exchange);
    tcase_add_test(cases, digests_of_parts_add_up_and_nans_are_alike);
    tcase_add_test(cases, absorbed_updates_are_those_that_left_a_weight);
    tcase_add_test(cases, records_join_to_the_same_in_any_order);
    tcase_add_test(cases, the_largest_exponent_is_of_finite_values);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
