/* The plugins of a network that are built in. Their contracts are public. */
#ifndef CSE_ENGINE_NN_PLUGINS_H
#define CSE_ENGINE_NN_PLUGINS_H

#include "csengine/metric.h"
#include "csengine/model.h"
#include "csengine/optimizer.h"
#include "csengine/schedule.h"

extern const cse_metric_descriptor *const cse_metrics[];
extern const cse_model_descriptor *const cse_models[];
extern const cse_optimizer_descriptor *const cse_optimizers[];
extern const cse_schedule_descriptor *const cse_schedules[];

#endif
