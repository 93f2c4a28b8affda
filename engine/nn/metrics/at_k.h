/* What precision_at_k and recall_at_k share: how often the label is among the k largest scores. */
#ifndef CSE_METRICS_AT_K_H
#define CSE_METRICS_AT_K_H

#include "csengine/metric.h"

extern const cse_setting cse_at_k_settings[];
#define CSE_AT_K_FIELDS                                                                          \
    .settings = cse_at_k_settings, .arguments = "labels, scores[, weights]", .min_arguments = 2, \
    .max_arguments = 3, .state_count = 4,                                                        \
    .states = { CSE_METRIC_TOTAL("found"), CSE_METRIC_TOTAL("total") }

/* The weight of the samples whose label is among the k largest of their scores (of equal ones the
 * first), over the weight of all; labels [...], scores [..., classes]. */
cse_tensor *cse_at_k_fraction(cse_metric_step *step);

#endif
