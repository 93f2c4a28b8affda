/* Clipping: the factor below, at and above the limit, at zero and at values that are not finite,
 * and what it does to a parameter. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "csengine/csengine.h"
#include "engine/graph/precision/precision.h"
#include "engine/graph/trace/arguments.h"
#include "tests/support/evaluate.h"
#include "tests/support/prescribed_gradients.h"

/* ---- the factor: min(1, max_norm / (norm + 1e-6)) of torch.nn.utils.clip_grad_norm_ ---- */

static const struct {
    const char *name;
    double sum_of_squares, max_norm, factor;
} factors[] = {
    { "far below the limit", 0.01, 100, 1 },
    { "below the limit", 0.25, 0.7, 1 },
    { "just below the limit", 0.699 * 0.699, 0.7, 1 },
    { "at the limit", 0.49, 0.7, 0.7 / 0.700001 },
    { "just above the limit", 0.701 * 0.701, 0.7, 0.7 / 0.701001 },
    { "above the limit", 4, 1, 1 / 2.000001 },
    { "far above the limit", FLT_MAX, 1, 5.421010862427522e-20 }, /* 2^-64 */
    { "zero", 0, 1, 1 },
    { "zero, with a limit below 1e-6", 0, 1e-9, 1e-3 },
    { "overflow", INFINITY, 1, 0 },
    { "not a number", NAN, 1, NAN },
};

START_TEST(factor_equals_the_formula)
{
    cse_graph *graph = cse_graph_new(1, 1);
    cse_trace_begin(graph);
    evaluation *values = evaluation_new(graph, 1, 0, 0);
    cse_node *squares = cse_graph_leaf(graph, &cse_op_input, NULL, cse_scalar_shape, CSE_FLOAT32);
    float given = (float)factors[_i].sum_of_squares;
    evaluation_set(values, squares, &given);
    double expected = factors[_i].factor;
    double got = (double)*(const float *)evaluation_values(
        values, cse_clip_factor(squares, factors[_i].max_norm));
    if (isnan(expected))
        ck_assert_msg(isnan(got), "%s: the factor is %.9g", factors[_i].name, got);
    else /* five float32 roundings */
        ck_assert_msg(fabs(got - expected) <= 5 * 0x1p-24 * expected,
                      "%s: the factor is %.9g, expected %.9g", factors[_i].name, got, expected);
    evaluation_destroy(&values);
    cse_trace_end();
    cse_graph_destroy(&graph);
}
END_TEST

/* ---- parameters ---- */

/* The norms of the first four are above the limit of 0.7, those of the others below. */
static const double gradients[][PRESCRIBED_ELEMENTS] = {
    { 0.1168, 0.6898, 0.743, -0.3833 },
    { 0.259, 0.0291, -0.9001, -1.3887 },
    { -0.1836, -0.6973, -0.5111, 0.7412 },
    { -0.2117, 0.1506, 1.0318, 1.1977 },
    { 0.3, -0.4, 0, 0 },       /* norm 0.5: as it is */
    { 0, 0, 0, 0 },            /* norm 0 */
    { 0.0003, 0, -0.0004, 0 }, /* norm 0.0005 */
};
enum { STEPS = sizeof gradients / sizeof gradients[0] };

static const double start[PRESCRIBED_ELEMENTS] = { 0.5, -1, 2, 0.25 };
/* torch.nn.utils.clip_grad_norm_ with max_norm 0.7, then w -= 0.1 * gradient, in float64. */
static const double clipped[STEPS][PRESCRIBED_ELEMENTS] = {
    { 0.492500144, -1.044292813, 1.952291156, 0.274612113 },
    { 0.481678142, -1.045508722, 1.989900749, 0.332637267 },
    { 0.492819981, -1.003192794, 2.020917056, 0.28765725 },
    { 0.502069945, -1.009773071, 1.975833857, 0.23532526 },
    { 0.472069945, -0.969773071, 1.975833857, 0.23532526 },
    { 0.472069945, -0.969773071, 1.975833857, 0.23532526 },
    { 0.472039945, -0.969773071, 1.975873857, 0.23532526 },
};
static const double tolerance = 1e-5; /* 8 steps of 10 float32 roundings of values up to 2 */

static prescribed_gradients training(cse_clip clip)
{
    prescribed_gradients given = { .gradients = gradients,
                                   .steps = STEPS,
                                   .optimizer = "SGD",
                                   .settings = "{lr: 0.1}",
                                   .clip = clip };
    memcpy(given.start, start, sizeof start);
    return given;
}

static void check_clipped(int microbatches, const char *scaler)
{
    prescribed_run run;
    prescribed_gradients given = training((cse_clip){ .max_norm = 0.7 });
    given.microbatches = microbatches;
    given.scaler = scaler;
    prescribed_run_open(&run, &given);
    for (int s = 0; s < STEPS; s++) {
        traced_run_step(&run.traced);
        for (int i = 0; i < PRESCRIBED_ELEMENTS; i++)
            ck_assert_double_eq_tol((double)run.w[i], clipped[s][i], tolerance);
    }
    prescribed_run_close(&run);
}

START_TEST(norms_are_clipped)
{
    check_clipped(1, NULL);
    check_clipped(3, NULL);
    check_clipped(1, "{loss_scale: 1024}");
}
END_TEST

/* A gradient within the limit is not changed in any bit. */
START_TEST(small_gradients_keep_their_bits)
{
    prescribed_run plain, limited;
    prescribed_gradients given = training((cse_clip){ .max_norm = 0 });
    float without[PRESCRIBED_ELEMENTS];
    given.gradients = gradients + 4;
    given.steps = STEPS - 4;
    prescribed_run_open(&plain, &given);
    for (int s = 0; s < given.steps; s++)
        traced_run_step(&plain.traced);
    memcpy(without, plain.w, sizeof without);
    prescribed_run_close(&plain);
    given.clip.max_norm = 0.7;
    prescribed_run_open(&limited, &given);
    for (int s = 0; s < given.steps; s++)
        traced_run_step(&limited.traced);
    ck_assert_mem_eq(without, limited.w, sizeof without);
    prescribed_run_close(&limited);
}
END_TEST

/* As PyTorch: a norm that overflows makes the factor 0. A scaler skips the step. */
START_TEST(a_norm_that_overflows)
{
    static const double great[][PRESCRIBED_ELEMENTS] = { { 1, 3e38, 2, -1 } };
    static const char *const scalers[] = { NULL, "{loss_scale: 2}" };
    for (int k = 0; k < 2; k++) {
        prescribed_run run;
        prescribed_gradients given = training((cse_clip){ .max_norm = 0.7 });
        given.gradients = great;
        given.steps = 1;
        given.scaler = scalers[k];
        prescribed_run_open(&run, &given);
        traced_run_step(&run.traced);
        for (int i = 0; i < PRESCRIBED_ELEMENTS; i++)
            ck_assert_double_eq((double)run.w[i], start[i]);
        if (given.scaler != NULL)
            ck_assert_int_eq(traced_int(&run.traced, "grad_scaler.num_skipped_steps"), 1);
        prescribed_run_close(&run);
    }
}
END_TEST

START_TEST(elements_are_clipped_to_a_value)
{
    prescribed_run run;
    prescribed_gradients given = training((cse_clip){ .max_value = 0.25 });
    double expected[PRESCRIBED_ELEMENTS];
    memcpy(expected, start, sizeof start);
    prescribed_run_open(&run, &given);
    for (int s = 0; s < STEPS; s++) {
        traced_run_step(&run.traced);
        for (int i = 0; i < PRESCRIBED_ELEMENTS; i++) {
            expected[i] -= 0.1 * fmax(-0.25, fmin(0.25, gradients[s][i]));
            ck_assert_double_eq_tol((double)run.w[i], expected[i], tolerance);
        }
    }
    prescribed_run_close(&run);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("clipping");
    TCase *cases = tcase_create("all");
    tcase_add_loop_test(cases, factor_equals_the_formula, 0,
                        (int)(sizeof factors / sizeof factors[0]));
    tcase_add_test(cases, norms_are_clipped);
    tcase_add_test(cases, small_gradients_keep_their_bits);
    tcase_add_test(cases, a_norm_that_overflows);
    tcase_add_test(cases, elements_are_clipped_to_a_value);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
