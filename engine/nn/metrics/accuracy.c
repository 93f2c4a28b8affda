/* accuracy: the fraction of correct predictions.
 *
 *   sum(weight where label == prediction) / (number of weights above 0)
 *
 * It is 0 where no weight is above 0. Without weights each sample has weight 1. */
#include "csengine/generated/ops.h"
#include "csengine/metric.h"

static const cse_setting settings[] = { { .name = NULL } };

static void update(cse_metric_step *m)
{
    cse_tensor *labels = m->arguments[0], *predictions = m->arguments[1],
               *weights = m->arguments[2];
    cse_tensor *hit = cse_cast(cse_equal(labels, predictions), CSE_FLOAT32), *counted;
    if (weights != NULL) {
        hit = cse_mul(hit, weights);
        counted = cse_metric_sum(cse_cast(cse_greater(weights, cse_constant(0)), CSE_FLOAT32));
    } else {
        counted = cse_metric_count(hit);
    }
    cse_tensor *correct = cse_metric_add(m, 0, cse_metric_sum(hit));
    m->value = cse_metric_quotient(correct, cse_metric_add(m, 2, counted));
}

const cse_metric_descriptor cse_metric_accuracy = {
    .name = "accuracy",
    .summary = "fraction of labels that were predicted",
    .settings = settings,
    .arguments = "labels, predictions[, weights]",
    .min_arguments = 2,
    .max_arguments = 3,
    .state_count = 4,
    .states = { CSE_METRIC_TOTAL("correct"), CSE_METRIC_TOTAL("total") },
    .update = update,
};
