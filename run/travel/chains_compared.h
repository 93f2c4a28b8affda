/* How far two runs are the same, bit for bit, by their digests alone. */
#ifndef CSE_RUN_TRAVEL_CHAINS_COMPARED_H
#define CSE_RUN_TRAVEL_CHAINS_COMPARED_H

#include <stdbool.h>
#include <stdint.h>

#include "csengine/status.h"

typedef struct cse_chains_compared {
    int64_t common;      /* steps of which both have digests, up to the first that differs */
    int64_t same_to;     /* the last step up to which all of these are equal; 0: none */
    int64_t differs;     /* the first that is not; 0: none */
    bool samples_differ; /* then: its samples are others; else its states alone */
} cse_chains_compared;

/* Of any length: no more than a stretch of both chains is in memory. */
cse_status cse_chains_compare(const char *const model_dirs[2], cse_chains_compared *compared);

#endif
