/* What is wrong with how a run trains, by its store alone: while it trains and after its end. Each
 * finding is a rule over what was recorded, with the step from which on it holds. */
#ifndef CSE_DASHBOARD_QUEUE_JOB_HEALTH_H
#define CSE_DASHBOARD_QUEUE_JOB_HEALTH_H

#include <jansson.h>

#include "store/reader.h"

/* The kinds of findings, ended by NULL:
 * diverged: the loss is not finite, or has risen far above where it began;
 * plateau: the loss has not changed over the last half of the steps;
 * overflowed: observed tensors had NaN, infinite or saturated values;
 * skipping: more than 5 % of the last 100 steps had gradients that were not finite;
 * starving: replicas wait for input for more than 30 % of the time of the steps. */
extern const char *const cse_health_kinds[];

/* An array of {kind, step, message}; empty: nothing was found. `reader` NULL: nothing is known. */
json_t *cse_job_health(cse_store_reader *reader);

#endif
