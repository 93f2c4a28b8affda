/* Each metric of the list, in runs with real processes: its value has the same bits with 1 to 4
 * replicas, and again in a second execution that goes on where the first ended. (Its states outlive
 * executions and are in no checkpoint: an evaluation that was stopped begins anew.) A new metric
 * without a line below fails. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "csengine/csengine.h"
#include "engine/nn/plugins.h"
#include "tests/support/temporary_folder.h"

enum { MOST_METRICS = 64, EXECUTIONS = 2, MICROBATCH = 4 };

static const char data[] = "{data_processor: synthetic, samples: 240, features: [6], classes: 4, "
                           "batch_size: 24, micro_batch_size: 4}";

/* How a metric is called: settings, and which of the step's tensors are its arguments. */
typedef enum arguments {
    OF_CLASSES,
    OF_SCORES,
    OF_LOSS,
    OF_VALUE,
    OF_PROBABILITIES,
    OF_TOKENS
} arguments;
static const struct {
    const char *name, *settings;
    arguments arguments;
} calls[] = {
    { "accuracy", NULL, OF_CLASSES },
    { "auc", "{num_thresholds: 20, curve: PR}", OF_PROBABILITIES },
    { "bleu", "{max_n: 2}", OF_TOKENS },
    { "confusion_matrix", "{num_classes: 4}", OF_CLASSES },
    { "dice", "{num_classes: 4}", OF_CLASSES },
    { "f_beta", "{num_classes: 4, beta: 2, average_type: macro}", OF_CLASSES },
    { "mean", NULL, OF_VALUE },
    { "mean_iou", "{num_classes: 4, ignore_classes: [1]}", OF_CLASSES },
    { "mean_loss", NULL, OF_LOSS },
    { "mean_per_class_accuracy", "{num_classes: 4}", OF_CLASSES },
    { "perplexity", NULL, OF_LOSS },
    { "precision_at_k", "{k: 2}", OF_SCORES },
    { "recall_at_k", "{k: 3}", OF_SCORES },
    { "rouge_n", "{n: 1, measure: f1}", OF_TOKENS },
};

typedef struct evaluation {
    cse_model *model;
    cse_metric *metrics[MOST_METRICS];
    int calls[MOST_METRICS];
    int count;
} evaluation;

static int call_of(const char *name)
{
    for (int c = 0; c < (int)(sizeof calls / sizeof calls[0]); c++)
        if (strcmp(calls[c].name, name) == 0)
            return c;
    ck_abort_msg("no call of the metric %s", name);
    return -1;
}

static cse_tensor *step_function(cse_step *step, void *self)
{
    const evaluation *e = self;
    cse_tensor *labels = cse_input(step, "labels");
    cse_tensor *scores = cse_forward(e->model, cse_input(step, "images"));
    cse_tensor *losses = cse_cross_entropy_per_sample(scores, labels);
    /* Of each sample; not a sum of few bits. */
    cse_tensor *weights = cse_sigmoid(losses), *classes = cse_argmax(scores, -1);
    cse_tensor *first = cse_reshape(cse_slice_axis(scores, 1, 0, 1), cse_shape_of(MICROBATCH));
    for (int k = 0; k < e->count; k++) {
        switch (calls[e->calls[k]].arguments) {
        case OF_CLASSES:
            cse_metric_update(e->metrics[k], labels, classes, weights);
            break;
        case OF_SCORES:
            cse_metric_update(e->metrics[k], labels, scores, weights);
            break;
        case OF_LOSS:
            cse_metric_update(e->metrics[k], labels, cse_sum_all(cse_mul(losses, weights)),
                              weights);
            break;
        case OF_VALUE:
            cse_metric_update(e->metrics[k], losses, weights);
            break;
        case OF_PROBABILITIES:
            cse_metric_update(e->metrics[k], labels, cse_sigmoid(first), weights);
            break;
        case OF_TOKENS: /* the samples of a microbatch as one text */
            cse_metric_update(e->metrics[k], cse_reshape(labels, cse_shape_of(1, MICROBATCH)),
                              cse_reshape(classes, cse_shape_of(1, MICROBATCH)));
            break;
        }
    }
    return cse_mean_all(losses);
}

static void must(cse_status status)
{
    ck_assert_msg(status == CSE_OK, "%s", cse_error_message());
}

static void evaluate(const char *folder, int replicas, double values[EXECUTIONS][MOST_METRICS])
{
    evaluation e = { .count = 0 };
    must(
        cse_configure(&(cse_configuration){ .model_dir = folder, .num_csx = replicas, .seed = 5 }));
    e.model = cse_compile(
        cse_model_new("fc_mnist", "{input_size: 6, hidden_sizes: [8], num_classes: 4}"));
    cse_eval_mode(e.model);
    for (; cse_metrics[e.count] != NULL; e.count++) {
        ck_assert_int_lt(e.count, MOST_METRICS);
        const char *name = cse_metrics[e.count]->name;
        e.calls[e.count] = call_of(name);
        e.metrics[e.count] = cse_configure_metric(name, name, calls[e.calls[e.count]].settings);
        must(cse_session_status());
    }
    for (int x = 0; x < EXECUTIONS; x++) {
        must(cse_run(cse_executor_new(&(cse_executor_options){ .input = data, .num_steps = 10 }),
                     step_function, &e));
        for (int k = 0; k < e.count; k++)
            must(cse_metric_value(e.metrics[k], &values[x][k]));
    }
    cse_finish();
}

START_TEST(values_do_not_depend_on_replicas)
{
    static double one[EXECUTIONS][MOST_METRICS], other[EXECUTIONS][MOST_METRICS];
    char folder[64] = "/tmp/cse_metric_bits_XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(folder));
    evaluate(folder, 1, one);
    for (int replicas = 2; replicas <= 4; replicas++) {
        evaluate(folder, replicas, other);
        for (int k = 0; cse_metrics[k] != NULL; k++)
            for (int x = 0; x < EXECUTIONS; x++) {
                ck_assert_msg(one[x][k] > 0 && one[x][k] < 100, "%s: %.9g", cse_metrics[k]->name,
                              one[x][k]);
                ck_assert_msg(one[x][k] == other[x][k], "%s: %.9g with 1 replica, %.9g with %d",
                              cse_metrics[k]->name, one[x][k], other[x][k], replicas);
            }
    }
    temporary_folder_remove(folder);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("metric_bits");
    TCase *cases = tcase_create("all");
    tcase_set_timeout(cases, 120);
    tcase_add_test(cases, values_do_not_depend_on_replicas);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
