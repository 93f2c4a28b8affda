/* types: the 16-bit formats over all their values, and shapes. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "engine/base/types/dtype.h"
#include "engine/base/types/shape.h"
#include "tests/support/expect.h"

static const cse_dtype formats[] = { CSE_BFLOAT16, CSE_FLOAT16, CSE_CBFLOAT16 };

START_TEST(every_16_bit_value_survives_the_way_through_float32)
{
    cse_dtype dtype = formats[_i];
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        float value = cse_float_from_format(dtype, (uint16_t)bits);
        uint16_t back = cse_round_to_bits(dtype, value);
        if (isnan(value))
            cse_expect(isnan(cse_float_from_format(dtype, back)), "%04x is a number", back);
        else
            cse_expect(back == bits, "%04x became %04x", bits, back);
    }
}
END_TEST

/* Between two neighbours the nearer one is taken, and the even one from the middle. */
START_TEST(rounding_is_to_nearest_ties_to_even)
{
    cse_dtype dtype = formats[_i];
    for (uint32_t bits = 0; bits < 0x7fff; bits++) {
        double low = cse_float_from_format(dtype, (uint16_t)bits);
        double high = cse_float_from_format(dtype, (uint16_t)(bits + 1));
        if (!isfinite(low) || !isfinite(high))
            continue;
        double middle = (low + high) / 2;
        uint16_t even = (uint16_t)(bits & 1 ? bits + 1 : bits);
        float below = nextafterf((float)middle, 0), above = nextafterf((float)middle, INFINITY);
        cse_expect(cse_round_to_bits(dtype, (float)middle) == even, "%a", middle);
        cse_expect(cse_round_to_bits(dtype, below) == bits, "%a", (double)below);
        cse_expect(cse_round_to_bits(dtype, above) == bits + 1, "%a", (double)above);
        cse_expect(cse_round_to_bits(dtype, -(float)middle) == (even | 0x8000), "-%a", middle);
    }
}
END_TEST

/* Largest values, smallest normals and subnormals as the formats' definitions give them. */
START_TEST(formats_have_their_published_ranges)
{
    ck_assert_float_eq(cse_float_from_format(CSE_FLOAT16, 0x7bff), 65504.0f);
    ck_assert_float_eq(cse_float_from_format(CSE_FLOAT16, 0x0001), 0x1p-24f);
    ck_assert_float_eq(cse_float_from_format(CSE_BFLOAT16, 0x0080), 0x1p-126f);
    ck_assert_float_eq(cse_float_from_format(CSE_CBFLOAT16, 0x7dff), 4290772992.0f);
    ck_assert_float_eq(cse_float_from_format(CSE_CBFLOAT16, 0x0200), 0x1p-30f);
    ck_assert_uint_eq(cse_round_to_bits(CSE_FLOAT16, 65520.0f), 0x7c00);
    ck_assert_uint_eq(cse_round_to_bits(CSE_FLOAT16, 65519.0f), 0x7bff);
}
END_TEST

START_TEST(the_inline_bfloat16_agrees_with_the_general_routine)
{
    uint32_t state = 1;
    for (int i = 0; i < 1000000; i++) {
        state = state * 1664525u + 1013904223u;
        float value = cse_float_from_bits(state);
        uint16_t fast = cse_bfloat16_from_float(value);
        if (isnan(value))
            cse_expect(isnan(cse_float_from_bfloat16(fast)), "%04x is a number", fast);
        else
            cse_expect(fast == cse_round_to_bits(CSE_BFLOAT16, value), "%a", (double)value);
    }
}
END_TEST

/* The independent routine goes by way of double and frexp. Floats at equal distances are tried, and
 * the neighbours of every value of the format and of the middle above it. */
static void check_rounding(cse_dtype dtype, uint32_t bits)
{
    float value = cse_float_from_bits(bits);
    float expected = cse_float_from_format(dtype, cse_round_to_bits(dtype, value));
    float got = dtype == CSE_FLOAT16 ? cse_round_float16(value) : cse_round_cbfloat16(value);
    if (isnan(expected))
        cse_expect(isnan(got), "%a is a number", (double)got);
    else
        cse_expect(cse_float_bits(got) == cse_float_bits(expected), "%a: %a, expected %a",
                   (double)value, (double)got, (double)expected);
}

START_TEST(rounding_a_float_agrees_with_the_general_routine)
{
    cse_dtype dtype = formats[1 + _i];
    uint32_t middle = dtype == CSE_FLOAT16 ? 1u << 12 : 1u << 13;
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 4267)
        check_rounding(dtype, (uint32_t)bits);
    for (uint32_t value = 0; value < 0x10000; value++)
        for (uint32_t offset = 0; offset < 3; offset++) {
            uint32_t bits = cse_float_bits(cse_float_from_format(dtype, (uint16_t)value));
            check_rounding(dtype, bits + offset - 1);
            check_rounding(dtype, bits + middle + offset - 1);
        }
}
END_TEST

START_TEST(shapes_broadcast_as_numpy_says)
{
    cse_shape common;
    ck_assert(cse_shape_broadcast(cse_shape_of(8, 1, 6, 1), cse_shape_of(7, 1, 5), &common));
    ck_assert(cse_shape_equal(common, cse_shape_of(8, 7, 6, 5)));
    ck_assert(cse_shape_broadcast(cse_scalar_shape, cse_shape_of(3), &common));
    ck_assert(cse_shape_equal(common, cse_shape_of(3)));
    ck_assert(!cse_shape_broadcast(cse_shape_of(2, 1), cse_shape_of(8, 4, 3), &common));
    ck_assert(!cse_shape_broadcast(cse_shape_of(3), cse_shape_of(4), &common));
    int64_t strides[CSE_MAX_RANK];
    cse_shape_broadcast_strides(cse_shape_of(3, 1), cse_shape_of(2, 3, 4), strides);
    ck_assert_int_eq(strides[0], 0);
    ck_assert_int_eq(strides[1], 1);
    ck_assert_int_eq(strides[2], 0);
    char text[32];
    ck_assert_str_eq(cse_shape_text(cse_shape_of(64, 784), text, sizeof text), "[64, 784]");
    ck_assert_str_eq(cse_shape_text(cse_scalar_shape, text, sizeof text), "[]");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("types");
    TCase *cases = tcase_create("types");
    tcase_set_timeout(cases, 30);
    tcase_add_loop_test(cases, every_16_bit_value_survives_the_way_through_float32, 0, 3);
    tcase_add_loop_test(cases, rounding_is_to_nearest_ties_to_even, 0, 3);
    tcase_add_test(cases, formats_have_their_published_ranges);
    tcase_add_test(cases, the_inline_bfloat16_agrees_with_the_general_routine);
    tcase_add_loop_test(cases, rounding_a_float_agrees_with_the_general_routine, 0, 2);
    tcase_add_test(cases, shapes_broadcast_as_numpy_says);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
