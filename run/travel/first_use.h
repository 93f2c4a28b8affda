/* When a run first used one of some samples. */
#ifndef CSE_RUN_TRAVEL_FIRST_USE_H
#define CSE_RUN_TRAVEL_FIRST_USE_H

#include <stdint.h>

#include "csengine/status.h"

typedef struct cse_first_use_question {
    const char *model_dir;
    /* Of the run, with the samples in `without` of its data, which checks them. */
    const char *configuration;
    const int64_t *samples; /* [count] */
    int64_t count;
    int64_t last; /* step up to which it is looked for */
} cse_first_use_question;

typedef struct cse_first_use {
    int64_t step; /* from 1; 0: none up to the last one asked for */
    int64_t sample;
} cse_first_use;

/* From the order of the data alone, and compared with the digest of its samples that each step
 * left: CSE_DATA where the run had others. CSE_CONFIG as the data loader refuses the samples. */
cse_status cse_first_use_find(const cse_first_use_question *question, cse_first_use *found);

#endif
