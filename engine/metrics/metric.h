/* The metrics that are built in; the contract of one is public, csengine/metric.h. */
#ifndef CSE_METRICS_METRIC_H
#define CSE_METRICS_METRIC_H

#include "csengine/metric.h"

extern const cse_metric_descriptor *const cse_metrics[];

#endif
