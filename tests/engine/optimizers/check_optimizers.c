/* The contract of every optimizer: what its descriptor must have, and that it takes a parameter
 * where its own samples say, with one microbatch, with several, and with a loss scale. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "csengine/csengine.h"
#include "engine/optimizers/optimizer.h"
#include "engine/optimizers/rule.h"
#include "engine/trace/trace.h"
#include "tests/support/evaluate.h"
#include "tests/support/prescribed_gradients.h"

enum { MOST_SAMPLES = 256, STEPS = 8 };

typedef struct sampled {
    const cse_optimizer_descriptor *optimizer;
    const cse_optimizer_sample *sample;
} sampled;

static sampled values[MOST_SAMPLES], refusals[MOST_SAMPLES];
static int value_count, refusal_count;

static void list_samples(void)
{
    for (int k = 0; cse_optimizers[k] != NULL; k++)
        for (const cse_optimizer_sample *s = cse_optimizers[k]->samples;
             s != NULL && s->settings != NULL; s++) {
            if (value_count == MOST_SAMPLES || refusal_count == MOST_SAMPLES)
                abort();
            sampled at = { cse_optimizers[k], s };
            if (s->refusal != NULL)
                refusals[refusal_count++] = at;
            else
                values[value_count++] = at;
        }
}

/* As engine/optimizers/optimizer.h defines them. */
static const double start[PRESCRIBED_ELEMENTS] = { 0.5, -1, 2, 0.25 };
static double gradients[STEPS][PRESCRIBED_ELEMENTS];

static void make_gradients(void)
{
    for (int t = 0; t < STEPS; t++)
        for (int i = 0; i < PRESCRIBED_ELEMENTS; i++)
            gradients[t][i] = round(sin(1.7 * t + i + 0.4) * (0.3 + 0.4 * i) * 1e4) / 1e4;
}

static void check_row(const sampled *at, int row, const float *w)
{
    const cse_optimizer_sample *sample = at->sample;
    double tolerance = sample->tolerance > 0 ? sample->tolerance : 1e-5;
    for (int i = 0; i < PRESCRIBED_ELEMENTS; i++)
        ck_assert_msg(fabs((double)w[i] - sample->parameters[row][i]) < tolerance,
                      "%s %s: row %d: w[%d] is %.9g, expected %.9g (%s)", at->optimizer->name,
                      sample->settings, row, i, (double)w[i], sample->parameters[row][i],
                      sample->source);
}

static void run_sample(const sampled *at, int microbatches, const char *scaler)
{
    static const int steps_of_row[CSE_OPTIMIZER_SAMPLE_ROWS] = { 1, 2, 4, STEPS };
    prescribed_run run;
    prescribed_gradients given = { .gradients = (const void *)gradients,
                                   .steps = STEPS,
                                   .microbatches = microbatches,
                                   .optimizer = at->optimizer->name,
                                   .settings = at->sample->settings,
                                   .matrix = at->sample->matrix,
                                   .scaler = scaler };
    memcpy(given.start, start, sizeof start);
    ck_assert_msg(at->sample->source != NULL, "%s %s: no source", at->optimizer->name,
                  at->sample->settings);
    prescribed_run_open(&run, &given);
    for (int step = 1, row = 0; step <= STEPS; step++) {
        traced_run_step(&run.traced);
        if (step == steps_of_row[row])
            check_row(at, row++, run.w);
    }
    prescribed_run_close(&run);
}

START_TEST(samples_are_met)
{
    run_sample(&values[_i], 1, NULL);
}
END_TEST

START_TEST(samples_are_met_by_the_mean_of_microbatches)
{
    run_sample(&values[_i], 3, NULL);
}
END_TEST

/* Multiplication and division by a power of two are exact. */
START_TEST(samples_are_met_with_a_static_scale)
{
    run_sample(&values[_i], 1, "{loss_scale: 1024}");
}
END_TEST

/* ---- weight decay by a schedule ---- */

static bool has_weight_decay(const cse_optimizer_descriptor *optimizer)
{
    const cse_setting *row = optimizer->settings;
    while (row->name != NULL && strcmp(row->name, "weight_decay") != 0)
        row++;
    return row->name != NULL;
}

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

START_TEST(a_constant_schedule_of_weight_decay_is_the_setting)
{
    for (int k = 0; cse_optimizers[k] != NULL; k++) {
        float by_setting[PRESCRIBED_ELEMENTS], by_schedule[PRESCRIBED_ELEMENTS];
        const char *name = cse_optimizers[k]->name;
        if (!has_weight_decay(cse_optimizers[k]))
            continue;
        train(name, "{weight_decay: 0.25}", "0.125", by_setting);
        train(name, "{}", "[0.125, {ConstantWD: {val: 0.25}}]", by_schedule);
        ck_assert_msg(memcmp(by_setting, by_schedule, sizeof by_setting) == 0, "%s", name);
        train(name, "{}", "0.125", by_schedule);
        ck_assert_msg(memcmp(by_setting, by_schedule, sizeof by_setting) != 0, "%s", name);
    }
}
END_TEST

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

START_TEST(wrong_settings_are_refused)
{
    const sampled *at = &refusals[_i];
    expect_refused(at->optimizer->name, at->sample->settings, at->sample->refusal);
}
END_TEST

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

START_TEST(a_descriptor_is_complete)
{
    for (int k = 0; cse_optimizers[k] != NULL; k++) {
        const cse_optimizer_descriptor *d = cse_optimizers[k];
        cse_declared_state states[CSE_MAX_DECLARED_STATES];
        cse_settings *settings = NULL;
        ck_assert(d->summary != NULL && d->summary[0] != '\0');
        ck_assert_int_eq(cse_settings_parse(d->settings, d->name, NULL, &settings), CSE_OK);
        ck_assert(!cse_settings_has(settings, "lr") &&
                  !cse_settings_has(settings, "learning_rate"));
        cse_shape shape = { .rank = 0 };
        for (; shape.rank <= CSE_MAX_RANK; shape.dims[shape.rank++] = 2) {
            int count = d->states(settings, shape, states);
            ck_assert(count >= 0 && count <= CSE_MAX_DECLARED_STATES);
            for (int i = 0; i < count; i++)
                ck_assert(states[i].name != NULL && states[i].without_axes >> shape.rank == 0);
            if (shape.rank == CSE_MAX_RANK)
                break;
        }
        bool found = false;
        for (int v = 0; v < value_count; v++)
            found = found || values[v].optimizer == d;
        ck_assert_msg(found, "optimizer %s has no sample with values", d->name);
        cse_settings_destroy(&settings);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("optimizers");
    TCase *cases = tcase_create("all");
    list_samples();
    make_gradients();
    tcase_add_test(cases, a_descriptor_is_complete);
    tcase_add_loop_test(cases, samples_are_met, 0, value_count);
    tcase_add_loop_test(cases, samples_are_met_by_the_mean_of_microbatches, 0, value_count);
    tcase_add_loop_test(cases, samples_are_met_with_a_static_scale, 0, value_count);
    tcase_add_test(cases, a_constant_schedule_of_weight_decay_is_the_setting);
    tcase_add_test(cases, weight_decay_follows_its_schedule);
    tcase_add_loop_test(cases, the_bias_of_a_power_is_exact_from_the_first_step, 0, 3);
    tcase_add_loop_test(cases, wrong_settings_are_refused, 0, refusal_count);
    tcase_add_test(cases, an_unknown_optimizer_is_refused);
    tcase_add_test(cases, a_learning_rate_must_be_given);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
