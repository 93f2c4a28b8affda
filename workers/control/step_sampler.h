/* Samples a step periodically: what every process did in it, and how long each kernel ran. */
#ifndef CSE_WORKERS_CONTROL_STEP_SAMPLER_H
#define CSE_WORKERS_CONTROL_STEP_SAMPLER_H

#include "workers/control/run_events.h"

typedef struct cse_step_sampler cse_step_sampler;

/* NULL when events->on_spans is not set. Both are borrowed. */
cse_step_sampler *cse_step_sampler_new(cse_cluster *cluster, const cse_run_events *events);
void cse_step_sampler_destroy(cse_step_sampler **sampler);

/* To be called often; `rate`: steps a second. Nothing for NULL. */
void cse_step_sampler_poll(cse_step_sampler *sampler, double rate, int64_t now_ns);

#endif
