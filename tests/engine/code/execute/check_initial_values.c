/* Initial values element by element against their definition: Philox's words of (key, element,
 * draw), Box and Muller's formula with the C library's functions, and a new draw while the number
 * is beyond its bound. For all kinds, many means and deviations, and all widths of vectors. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/instruction_set.h"
#include "engine/base/random.h"
#include "engine/code/execute/execute.h"
#include "engine/code/execute/initial_draws.h"
#include "workers/arena/state_digests.h"

enum { CASES = 12, ELEMENTS = 40000 + 37 };

static const cse_initializer cases[CASES] = {
    { CSE_INIT_NORMAL, 0, 0.02 },          { CSE_INIT_NORMAL, 0, 1 },
    { CSE_INIT_NORMAL, 1, 1e-3 },          { CSE_INIT_NORMAL, -1e6, 0.3 },
    { CSE_INIT_NORMAL, 0, 1e-44 },         { CSE_INIT_TRUNCATED_NORMAL, 0, 0.02 },
    { CSE_INIT_TRUNCATED_NORMAL, 0.5, 2 }, { CSE_INIT_NORMAL_WITHIN, 0.02, 0.04 },
    { CSE_INIT_NORMAL_WITHIN, 1, 0.1 },    { CSE_INIT_NORMAL_WITHIN, 0.02, 3 },
    { CSE_INIT_UNIFORM, -0.036, 0.036 },   { CSE_INIT_UNIFORM, 3, 1e9 },
};

static double plain_normal(uint64_t key, uint32_t element, uint32_t draw)
{
    uint32_t words[4], counter[4] = { element, draw, 0, 0 };
    cse_philox(key, counter, words);
    const double u = ((double)words[0] + 1) / 4294967296.0;
    const double angle = 2 * M_PI * (double)words[1] / 4294967296.0;
    return sqrt(-2 * log(u)) * cos(angle);
}

static float plain_value(const cse_initializer *init, uint64_t key, uint32_t element)
{
    uint32_t words[4], counter[4] = { element, 0, 0, 0 }, draw = 0;
    double normal = plain_normal(key, element, 0);
    if (init->kind == CSE_INIT_UNIFORM) {
        cse_philox(key, counter, words);
        return (float)(init->a + (init->b - init->a) * ((words[0] >> 8) / 16777216.0));
    }
    while (init->kind == CSE_INIT_TRUNCATED_NORMAL && fabs(normal) > 2)
        normal = plain_normal(key, element, ++draw);
    while (init->kind == CSE_INIT_NORMAL_WITHIN && fabs(normal * init->a) > init->b)
        normal = plain_normal(key, element, ++draw);
    return init->kind == CSE_INIT_NORMAL_WITHIN ? (float)(init->a * normal)
                                                : (float)(init->a + init->b * normal);
}

static void compare(const cse_initializer *init, uint64_t key)
{
    static float values[ELEMENTS];
    memset(values, 0xff, sizeof values);
    cse_initial_draws(init, key, 0, ELEMENTS, values);
    for (uint32_t e = 0; e < ELEMENTS; e++) {
        const float wanted = plain_value(init, key, e);
        if (memcmp(&wanted, &values[e], sizeof wanted) != 0)
            ck_abort_msg("kind %d, %g, %g: element %u is %.9g, not %.9g", (int)init->kind, init->a,
                         init->b, e, (double)values[e], (double)wanted);
    }
}

START_TEST(draws_are_those_of_the_definition)
{
    for (cse_isa isa = CSE_ISA_BASELINE; isa <= CSE_ISA_AVX512; isa++) {
        cse_isa_limit(isa);
        compare(&cases[_i], UINT64_C(0x123456789abcdef) * (uint64_t)(_i + 1) + (uint64_t)isa);
    }
    cse_isa_limit(CSE_ISA_COUNT);
}
END_TEST

START_TEST(few_elements_are_the_first_of_many)
{
    float few[131], many[200];
    cse_initial_draws(&cases[5], 77, 0, 200, many);
    for (int64_t count = 0; count <= 130; count++) {
        few[count] = 5;
        cse_initial_draws(&cases[5], 77, 0, count, few);
        ck_assert_mem_eq(few, many, (size_t)count * sizeof *few);
        ck_assert_float_eq(few[count], 5); /* nothing behind them is written */
    }
}
END_TEST

START_TEST(parts_are_those_of_the_whole)
{
    static float whole[1000], part[1000];
    cse_initial_draws(&cases[_i], 78, 0, 1000, whole);
    for (int64_t first = 0; first < 1000; first += 1 + first % 97)
        for (int64_t count = 1; first + count <= 1000; count += 173) {
            cse_initial_draws(&cases[_i], 78, first, count, part);
            ck_assert_mem_eq(part, whole + first, (size_t)count * sizeof *part);
        }
}
END_TEST

START_TEST(zeros_have_the_digest_of_bytes_that_are_zero)
{
    static const unsigned char zeros[5000];
    for (size_t size = 0; size < sizeof zeros; size += size < 600 ? 1 : 61)
        ck_assert_uint_eq(cse_zeros_digest(size), cse_range_digest(zeros, size));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("initial values");
    TCase *tests = tcase_create("initial values");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, draws_are_those_of_the_definition, 0, CASES);
    tcase_add_test(tests, few_elements_are_the_first_of_many);
    tcase_add_loop_test(tests, parts_are_those_of_the_whole, 0, CASES);
    tcase_add_test(tests, zeros_have_the_digest_of_bytes_that_are_zero);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
