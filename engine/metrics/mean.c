/* mean: the weighted mean of a value over all updates.
 *
 *   sum(value * weight) / sum(weight)
 *
 * over all elements of all updates; without weights each element counts 1. A scalar that is a mean
 * over the microbatch (a loss) counts once for each microbatch. Sums are float32. */
#include "csengine/generated/ops.h"
#include "engine/metrics/metric.h"

static const cse_setting settings[] = { { .name = NULL } };

static void update(cse_metric_step *m)
{
    cse_tensor *value = m->arguments[0], *weight = m->arguments[1];
    cse_tensor *weighted = weight != NULL ? cse_mul(value, weight) : value;
    cse_tensor *total = weight != NULL ? cse_metric_sum(weight) : cse_metric_count(value);
    m->next_states[0] = cse_add(m->states[0], cse_metric_sum(weighted));
    m->next_states[1] = cse_add(m->states[1], total);
    m->value = cse_div(m->next_states[0], m->next_states[1]);
}

const cse_metric_descriptor cse_metric_mean = {
    .name = "mean",
    .summary = "weighted mean of a value",
    .settings = settings,
    .arguments = "value[, weight]",
    .min_arguments = 1,
    .max_arguments = 2,
    .state_count = 2,
    .states = { { .name = "sum", .scalar = true }, { .name = "weight", .scalar = true } },
    .update = update,
};
