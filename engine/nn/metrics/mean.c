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

/* Written by tests/reference/metrics.py. */
static const cse_metric_sample samples[] = {
    { .name = "of a matrix",
      .source = "numpy.mean",
      .argument_count = 1,
      .arguments = { { .dtype = CSE_FLOAT32,
                       .columns = 2,
                       .values = { 0.25,    -2.3125, -1.625,  0.6875, 3.5625, 0.375,
                                   2.5,     3.1875,  2.625,   1.375,  0.25,   0.6875,
                                   -0.875,  0.5625,  -0.1875, -1,     3.6875, -2.4375,
                                   -1.9375, -1.3125, 3.5,     1.8125, 3,      -1.25 } } },
      .values = { 0.828125, 0.62890625, 0.6302083333 } },
    { .name = "weighted",
      .source = "numpy.average",
      .argument_count = 2,
      .arguments = { { .dtype = CSE_FLOAT32,
                       .values = { 0.25, -1.625, 3.5625, 2.5, 2.625, 0.25, -0.875, -0.1875, 3.6875,
                                   -1.9375, 3.5, 3 } },
                     { .dtype = CSE_FLOAT32,
                       .values = { 1, 1, 0.5, 1.5, 0.75, 0.25, 1.25, 0.25, 1.5, 1, 0, 0 } } },
      .values = { 1.0390625, 0.7764423077, 0.9600694444 } },
    { .name = "without weight at first",
      .source = "the definition: 0, then (1 + 2 + 3 + 4) / 4",
      .argument_count = 2,
      .arguments = { { .dtype = CSE_FLOAT32, .values = { 3, 1, 4, 1, 1, 2, 3, 4, 5, 6, 7, 8 } },
                     { .dtype = CSE_FLOAT32, .values = { 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0 } } },
      .values = { 0, 2.5, 2.5 } },
    { .name = NULL },
};

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
    .samples = samples,
};
