/* The contract of every optimizer (run/contracts/of_optimizer.c), and what holds for some of them:
 * a decay that changes, a power that a state holds, names and rates that are missing. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "csengine/csengine.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/optimizers/rule.h"
#include "engine/nn/plugins.h"
#include "tests/samples/contract.h"
#include "tests/support/evaluate.h"
#include "tests/support/prescribed_gradients.h"

enum { STEPS = 8 };

/* As csengine/optimizer.h defines them. */
static const double start[PRESCRIBED_ELEMENTS] = { 0.5, -1, 2, 0.25 };
static double gradients[STEPS][PRESCRIBED_ELEMENTS];

static void make_gradients(void)
{
    for (int t = 0; t < STEPS; t++)
        for (int i = 0; i < PRESCRIBED_ELEMENTS; i++)
            gradients[t][i] = round(sin(1.7 * t + i + 0.4) * (0.3 + 0.4 * i) * 1e4) / 1e4;
}

START_TEST(the_contract_is_kept)
{
    contract_check("optimizer", cse_optimizers, _i);
}
END_TEST

/* ---- weight decay by a schedule ---- */

static void train(const char *optimizer, const char *settings, const char *schedule,
                  float after[PRESCRIBED_ELEMENTS])
{
    prescribed_run run;
    prescribed_gradients given = { .gradients = (const void *)gradients,
                                   .steps = STEPS,
                                   .optimizer = optimizer,
                                   .settings = settings,
                                   .schedule = schedule };
    memcpy(given.start, start, sizeof start);
    prescribed_run_open(&run, &given);
    for (int step = 0; step < STEPS; step++)
        traced_run_step(&run.traced);
    memcpy(after, run.w, PRESCRIBED_ELEMENTS * sizeof *after);
    prescribed_run_close(&run);
}

START_TEST(weight_decay_follows_its_schedule)
{
    float after[PRESCRIBED_ELEMENTS];
    double w[PRESCRIBED_ELEMENTS];
    memcpy(w, start, sizeof w);
    for (int t = 0; t < STEPS; t++)
        for (int i = 0; i < PRESCRIBED_ELEMENTS; i++)
            w[i] -= 0.1 * (gradients[t][i] + (t < 4 ? 0.8 - 0.15 * t : 0.2) * w[i]);
    train("SGD", NULL,
          "[{scheduler: LinearWD, initial_val: 0.8, end_val: 0.2, total_iters: 4}, 0.1]", after);
    for (int i = 0; i < PRESCRIBED_ELEMENTS; i++)
        ck_assert_msg(fabs((double)after[i] - w[i]) < 1e-5, "w[%d] is %.9g, expected %.9g", i,
                      (double)after[i], w[i]);
}
END_TEST

/* PyTorch's update with another momentum in each step, as its CyclicLR and OneCycleLR set it. */
START_TEST(momentum_follows_its_schedule)
{
    float after[PRESCRIBED_ELEMENTS];
    double w[PRESCRIBED_ELEMENTS], buffer[PRESCRIBED_ELEMENTS] = { 0 };
    memcpy(w, start, sizeof w);
    for (int t = 0; t < STEPS; t++) {
        const double momentum = t < 4 ? 0.95 - 0.025 * t : 0.85;
        for (int i = 0; i < PRESCRIBED_ELEMENTS; i++) {
            buffer[i] = momentum * buffer[i] + gradients[t][i];
            w[i] -= 0.1 * (gradients[t][i] + momentum * buffer[i]);
        }
    }
    train("SGD", "{momentum: 0.5, nesterov: true}",
          "[{LinearMomentum: {initial_val: 0.95, end_val: 0.85, total_iters: 4}}, 0.1]", after);
    for (int i = 0; i < PRESCRIBED_ELEMENTS; i++)
        ck_assert_msg(fabs((double)after[i] - w[i]) < 1e-5, "w[%d] is %.9g, expected %.9g", i,
                      (double)after[i], w[i]);
}
END_TEST

/* From the power that a state holds after t - 1 multiplications in float32. */
START_TEST(the_bias_of_a_power_is_exact_from_the_first_step)
{
    static const double betas[] = { 0.9, 0.999, 0.9999 };
    const double beta = betas[_i];
    float power = (float)beta;
    cse_graph *graph = cse_graph_new(1, 1);
    cse_trace_begin(graph);
    cse_node *leaf = cse_graph_leaf(graph, &cse_op_input, NULL, cse_scalar_shape, CSE_FLOAT32);
    cse_tensor *bias = cse_optimizer_bias_of_power(leaf, beta);
    evaluation *evaluated = evaluation_new(graph, 0, 0, 0);
    for (int t = 1; t <= 20000; t++, power *= (float)beta) {
        if (t > 20 && t % 997 != 0)
            continue;
        evaluation_set(evaluated, leaf, &power);
        double expected = 1 - pow(beta, t);
        double got = (double)*(const float *)evaluation_values(evaluated, bias);
        ck_assert_msg(fabs(got - expected) < 5e-7 * expected, "beta %g, step %d: %.9g, not %.9g",
                      beta, t, got, expected);
    }
    evaluation_destroy(&evaluated);
    cse_trace_end();
    cse_graph_destroy(&graph);
}
END_TEST

static void expect_refused(const char *optimizer, const char *settings, const char *part)
{
    cse_model *model;
    ck_assert_ptr_null(prescribed_optimizer(optimizer, settings, false, &model));
    ck_assert_int_eq(cse_session_status(), CSE_CONFIG);
    ck_assert_msg(strstr(cse_error_message(), part) != NULL, "%s %s: %s", optimizer,
                  settings != NULL ? settings : "", cse_error_message());
    cse_finish();
}

START_TEST(an_unknown_optimizer_is_refused)
{
    expect_refused("Adan", NULL, "did you mean 'Adam'");
}
END_TEST

START_TEST(a_learning_rate_must_be_given)
{
    const char *message = prescribed_failure(&(prescribed_gradients){
        .gradients = (const void *)gradients, .steps = STEPS, .optimizer = "SGD" });
    ck_assert_msg(strstr(message, "no learning rate") != NULL, "%s", message);
    cse_finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("optimizers");
    TCase *cases = tcase_create("all");
    make_gradients();
    tcase_add_loop_test(cases, the_contract_is_kept, 0, contract_count(cse_optimizers));
    tcase_add_test(cases, weight_decay_follows_its_schedule);
    tcase_add_test(cases, momentum_follows_its_schedule);
    tcase_add_loop_test(cases, the_bias_of_a_power_is_exact_from_the_first_step, 0, 3);
    tcase_add_test(cases, an_unknown_optimizer_is_refused);
    tcase_add_test(cases, a_learning_rate_must_be_given);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
