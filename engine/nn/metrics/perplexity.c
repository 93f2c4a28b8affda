/* perplexity: exp(sum of loss / number of tokens), where `loss` is summed over the tokens, not
 * their mean, and the number of tokens is the sum of the weights, or the number of labels.
 * Over no token it is e^0. */
#include "csengine/generated/ops.h"
#include "csengine/metric.h"

static const cse_setting settings[] = { { .name = NULL } };

static void update(cse_metric_step *m)
{
    cse_tensor *labels = m->arguments[0], *weights = m->arguments[2];
    cse_tensor *fresh = weights != NULL ? cse_metric_sum(weights) : cse_metric_count(labels);
    cse_tensor *loss = cse_metric_add(m, 0, cse_metric_sum(m->arguments[1]));
    cse_tensor *tokens = cse_metric_add(m, 2, fresh);
    m->value = cse_exp(cse_metric_quotient(loss, tokens));
}

const cse_metric_descriptor cse_metric_perplexity = {
    .name = "perplexity",
    .summary = "e to the power of the mean loss of a token",
    .settings = settings,
    .arguments = "labels, loss[, weights]",
    .min_arguments = 2,
    .max_arguments = 3,
    .state_count = 4,
    .states = { CSE_METRIC_TOTAL("loss"), CSE_METRIC_TOTAL("tokens") },
    .update = update,
};
