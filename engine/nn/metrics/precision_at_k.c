/* precision_at_k: the fraction of the k largest scores of each sample that are the label's: since a
 * sample has one label, recall_at_k over k. */
#include "csengine/generated/ops.h"
#include "engine/nn/metrics/at_k.h"

static void update(cse_metric_step *m)
{
    const double k = (double)cse_settings_integer(m->settings, "k");
    m->value = cse_div(cse_at_k_fraction(m), cse_constant(k));
}

const cse_metric_descriptor cse_metric_precision_at_k = {
    .name = "precision_at_k",
    .summary = "fraction of the k largest scores that are the label",
    CSE_AT_K_FIELDS,
    .update = update,
};
