/* The whole training step of each model: compiled code against the interpreter over reference
 * kernels.
 *
 * Both start from the same bits and differ by the order and precision of sums alone: the
 * interpreter sums in double, compiled code in float32. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/csengine.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/traced_run.h"

enum { STEPS = 4 };

static char compile_dir[64];

static const struct {
    const char *model, *settings, *data;
} cases[] = {
    { "fc_mnist",
      "{input_size: 40, hidden_sizes: [36, 20], num_classes: 5, dropout: 0.2, activation: gelu}",
      "{data_processor: synthetic, samples: 256, features: [40], classes: 5, batch_size: 48, "
      "micro_batch_size: 16}" },
    { "cnn",
      "{image_size: 8, channels: 2, conv_channels: [3, 5], hidden_size: 12, num_classes: 4, "
      "dropout: 0.1}",
      "{data_processor: synthetic, samples: 64, features: [2, 8, 8], classes: 4, batch_size: 8, "
      "micro_batch_size: 4}" },
};

typedef struct training {
    cse_model *model;
    cse_optimizer *optimizer;
    cse_grad_scaler *scaler;
} training;

static cse_tensor *training_step(cse_step *step, void *self)
{
    const training *t = self;
    cse_tensor *loss = cse_model_loss(t->model, step, NULL);
    cse_optimizer_step(step, loss, t->optimizer, t->scaler, &(cse_clip){ .max_norm = 1 });
    return loss;
}

/* float32 sums of up to 768 terms (a convolution's weight gradient) round to within 768 x 2^-24,
 * 5e-5, of the terms' size; SGD with lr 0.1 adds a tenth of that to weights of size 1 in each step.
 */
static void compare(const char *name, const float *a, const float *b, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        double difference = fabs((double)a[i] - (double)b[i]);
        ck_assert_msg(difference <= 1e-4 * fmax(1, fabs((double)b[i])),
                      "%s[%lld]: compiled %.9g, interpreted %.9g", name, (long long)i, (double)a[i],
                      (double)b[i]);
    }
}

static void compare_states(const traced_run *compiled, const traced_run *interpreted)
{
    const cse_graph *graph = interpreted->step->graph;
    for (int s = 0; s < graph->state_count; s++) {
        const char *name = graph->states[s].name;
        int64_t count = cse_shape_elements(graph->states[s].shape);
        if (graph->states[s].dtype == CSE_FLOAT32)
            compare(name, traced_floats(compiled, name), traced_floats(interpreted, name), count);
        else
            ck_assert_int_eq(traced_int(compiled, name), traced_int(interpreted, name));
    }
}

START_TEST(compiled_step_equals_the_interpreter)
{
    traced_run compiled, interpreted;
    open_session();
    training t = { .model = cse_compile(cse_model_new(cases[_i].model, cases[_i].settings)) };
    t.optimizer = cse_configure_optimizer("SGD", t.model, "{momentum: 0.9, weight_decay: 0.01}");
    cse_configure_schedule(t.optimizer, "{scheduler: LinearLR, initial_learning_rate: 0.1, "
                                        "end_learning_rate: 0.01, total_iters: 8}");
    t.scaler = cse_grad_scaler_new("{loss_scale: dynamic, steps_per_increase: 2}");
    traced_run_open_compiled(&compiled, cases[_i].data, training_step, &t, compile_dir);
    ck_assert_str_eq(compiled.executable->kind, "compiled");
    traced_run_open(&interpreted, cases[_i].data, training_step, &t);
    compare_states(&compiled, &interpreted);
    for (int s = 0; s < STEPS; s++) {
        traced_run_step(&compiled);
        traced_run_step(&interpreted);
        float losses[2] = { straight_run_fetched(&compiled.run, compiled.step->loss_fetch),
                            straight_run_fetched(&interpreted.run, interpreted.step->loss_fetch) };
        compare("loss", &losses[0], &losses[1], 1);
        ck_assert_float_gt(losses[0], 0);
        compare_states(&compiled, &interpreted);
    }
    traced_run_close(&compiled);
    traced_run_close(&interpreted);
    cse_finish();
}
END_TEST

int main(void)
{
    snprintf(compile_dir, sizeof compile_dir, "/tmp/cse_models_XXXXXX");
    if (mkdtemp(compile_dir) == NULL)
        return 1;
    Suite *suite = suite_create("compiled models");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 120);
    tcase_add_loop_test(all, compiled_step_equals_the_interpreter, 0,
                        (int)(sizeof cases / sizeof cases[0]));
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    temporary_folder_remove(compile_dir);
    return failed == 0 ? 0 : 1;
}
