/* mean: the weighted mean of a value over all elements of all updates.
 *
 *   sum(value * weight) / sum(weight)
 *
 * It is 0 where all weights are 0. Without weights each element has weight 1. A scalar that is a
 * mean over the microbatch (a loss) counts for each of its samples, so that batches of several
 * sizes have the mean over all. */
#include "csengine/generated/ops.h"
#include "csengine/metric.h"
#include "engine/graph/trace/trace.h"

static const cse_setting settings[] = { { .name = NULL } };

/* Samples that a mean stands for; 1 where all stand for the same number. */
static double samples_of(const cse_tensor *value)
{
    const cse_graph *graph = cse_trace_graph();
    const bool is_mean = !cse_trace_is_poison(value) && value->batch && value->shape.rank == 0;
    return is_mean && graph->uneven ? (double)graph->micro_batch_size : 1;
}

static void update(cse_metric_step *m)
{
    cse_tensor *value = m->arguments[0], *weight = m->arguments[1];
    const double samples = weight == NULL ? samples_of(value) : 1;
    cse_tensor *weighted = weight != NULL ? cse_mul(value, weight) : cse_scale(value, samples);
    cse_tensor *total =
        weight != NULL ? cse_metric_sum(weight) : cse_scale(cse_metric_count(value), samples);
    cse_tensor *sum = cse_metric_add(m, 0, cse_metric_sum(weighted));
    m->value = cse_metric_quotient(sum, cse_metric_add(m, 2, total));
}

const cse_metric_descriptor cse_metric_mean = {
    .name = "mean",
    .summary = "weighted mean of a value",
    .settings = settings,
    .arguments = "value[, weight]",
    .min_arguments = 1,
    .max_arguments = 2,
    .state_count = 4,
    .states = { CSE_METRIC_TOTAL("sum"), CSE_METRIC_TOTAL("weight") },
    .update = update,
};
