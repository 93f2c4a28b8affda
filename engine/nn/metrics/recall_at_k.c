/* recall_at_k: the fraction of samples whose label is among the k largest scores (top-k accuracy),
 * by weight where there are weights. */
#include "csengine/generated/ops.h"
#include "engine/nn/metrics/at_k.h"

static void update(cse_metric_step *m)
{
    m->value = cse_at_k_fraction(m);
}

const cse_metric_descriptor cse_metric_recall_at_k = {
    .name = "recall_at_k",
    .summary = "fraction of labels among the k largest scores",
    CSE_AT_K_FIELDS,
    .update = update,
};
