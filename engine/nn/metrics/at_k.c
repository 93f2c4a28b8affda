/* The k largest scores of each sample, compared with its label. */
#include "engine/nn/metrics/at_k.h"

#include "csengine/generated/ops.h"

const cse_setting cse_at_k_settings[] = {
    { .name = "k",
      .type = CSE_SETTING_INTEGER,
      .min = 1,
      .max = 1048576,
      .doc = "how many of the largest scores count" },
    { .name = NULL },
};

cse_tensor *cse_at_k_fraction(cse_metric_step *step)
{
    static const int last[] = { -1 };
    cse_tensor *labels = step->arguments[0], *weights = step->arguments[2];
    cse_tensor *chosen =
        cse_top_k(step->arguments[1], -1, cse_settings_integer(step->settings, "k"));
    cse_shape column = cse_tensor_shape(labels);
    column.dims[column.rank++] = 1;
    cse_tensor *same = cse_equal(chosen, cse_reshape(labels, column));
    cse_tensor *found = cse_sum(cse_cast(same, CSE_FLOAT32), last, 1, false);
    cse_tensor *total = weights != NULL ? cse_metric_sum(weights) : cse_metric_count(labels);
    if (weights != NULL)
        found = cse_mul(found, weights);
    cse_tensor *sum = cse_metric_add(step, 0, cse_metric_sum(found));
    return cse_metric_quotient(sum, cse_metric_add(step, 2, total));
}
