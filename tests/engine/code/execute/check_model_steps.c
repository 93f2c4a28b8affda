/* Whole training steps of both models - forward, backward, clipping, optimizer, schedule, accuracy
 * - compiled, against the interpreter over the same plan, from the same weights and data. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/csengine.h"
#include "tests/support/compiled_graph.h"
#include "tests/support/traced_run.h"

enum { STEPS = 6 };

typedef struct training {
    cse_model *model;
    cse_optimizer *optimizer;
    cse_grad_scaler *scaler;
    cse_clip clip;
} training;

static const struct {
    const char *model, *model_settings, *optimizer, *optimizer_settings, *features;
} setups[] = {
    { "fc_mnist", "{input_size: 50, hidden_sizes: [40, 30], num_classes: 10}", "SGD",
      "{learning_rate: 0.05, momentum: 0.9}", "[50]" },
    { "fc_mnist", "{input_size: 50, hidden_sizes: [40, 30], num_classes: 10, dropout: 0.3}",
      "AdamW", "{learning_rate: 0.001}", "[50]" },
    { "cnn", "{image_size: 12, channels: 1, conv_channels: [4, 6], hidden_size: 20}", "Adam",
      "{learning_rate: 0.001}", "[1, 12, 12]" },
};

static cse_tensor *step_function(cse_step *step, void *self)
{
    const training *t = self;
    cse_tensor *loss = cse_model_loss(t->model, step, NULL);
    cse_optimizer_step(step, loss, t->optimizer, t->scaler, &t->clip);
    return loss;
}

/* Each step sums products of at most 144 terms and a batch of 16 in float32, in another order than
 * the reference does in double: relative errors near 144 * 2^-24 = 1e-5, carried through STEPS
 * updates. Adam divides by the root of its second moment, so that a gradient of nearly 0 may move
 * its weight in either direction: the mean over a state's elements is compared, not each. */
static void compare_runs(const straight_run *a, const straight_run *b, double tolerance)
{
    const cse_graph *graph = a->executable->graph;
    for (int s = 0; s < graph->state_count; s++) {
        const float *x = straight_run_state(a, graph->states[s].name);
        const float *y = straight_run_state(b, graph->states[s].name);
        double sum = 0, scale = 0;
        int64_t count = cse_shape_elements(graph->states[s].shape);
        if (graph->states[s].dtype != CSE_FLOAT32) {
            ck_assert_mem_eq(x, y, (size_t)count * 4);
            continue;
        }
        for (int64_t i = 0; i < count; i++) {
            sum += fabs((double)x[i] - (double)y[i]);
            scale = fmax(scale, fabs((double)y[i]));
        }
        ck_assert_msg(sum / (double)count <= tolerance * fmax(scale, 1e-3),
                      "state %s: mean difference %.3g, largest value %.3g", graph->states[s].name,
                      sum / (double)count, scale);
    }
}

static void compare_steps(traced_run *interpreted)
{
    straight_run compiled;
    const cse_graph *graph = interpreted->step->graph;
    cse_executable *executable = fixture_compile(graph);
    float first = 0, last = 0;
    straight_run_init(&compiled, executable, 1);
    for (int step = 0; step < STEPS; step++) {
        traced_run_step(interpreted);
        straight_run_step(&compiled, interpreted->inputs);
        last = straight_run_fetched(&compiled, 0);
        first = step == 0 ? last : first;
        ck_assert_double_eq_tol((double)last, (double)straight_run_fetched(&interpreted->run, 0),
                                1e-4);
    }
    ck_assert(isfinite(last) && last != first);
    compare_runs(&compiled, &interpreted->run, 1e-4);
    straight_run_clear(&compiled);
    cse_executable_destroy(&executable);
}

START_TEST(compiled_model_steps_are_as_interpreted)
{
    traced_run traced;
    char yaml[512];
    snprintf(yaml, sizeof yaml,
             "{data_processor: synthetic, samples: 96, features: %s, classes: 10, batch_size: 32, "
             "micro_batch_size: 16}",
             setups[_i].features);
    open_session();
    training t = { .model = cse_compile(cse_model_new(setups[_i].model, setups[_i].model_settings)),
                   .clip = { .max_norm = 1 } };
    t.optimizer =
        cse_configure_optimizer(setups[_i].optimizer, t.model, setups[_i].optimizer_settings);
    t.scaler = _i == 2 ? cse_grad_scaler_new(NULL) : NULL;
    traced_run_open(&traced, yaml, step_function, &t);
    compare_steps(&traced);
    traced_run_close(&traced);
    cse_finish();
    fixture_remove_directories();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("model_steps");
    TCase *cases = tcase_create("model_steps");
    tcase_set_timeout(cases, 60);
    tcase_add_loop_test(cases, compiled_model_steps_are_as_interpreted, 0,
                        sizeof setups / sizeof setups[0]);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
