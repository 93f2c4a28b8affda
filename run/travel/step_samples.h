/* The samples of a step that kept values (run/execution/kept_values.h). */
#ifndef CSE_RUN_TRAVEL_STEP_SAMPLES_H
#define CSE_RUN_TRAVEL_STEP_SAMPLES_H

#include <stdint.h>

#include "csengine/status.h"

/* Their numbers in the data, in the order of the batch. */
typedef struct cse_step_samples {
    int64_t *numbers; /* [count] */
    int64_t count, micro_batch_size;
} cse_step_samples;

/* Of a step of the run in `folder`. Clear them also after a failure. */
cse_status cse_step_samples_read(const char *folder, int64_t step, cse_step_samples *samples);
void cse_step_samples_clear(cse_step_samples *samples);

#endif
