/* The record of a committed step, as the coordinator hands it out. */
#ifndef CSE_WORKERS_ARENA_RECORD_H
#define CSE_WORKERS_ARENA_RECORD_H

#include <stdint.h>

typedef struct cse_record {
    int64_t step;                 /* 0-based number of the step that was committed */
    const unsigned char *fetched; /* CSE_SPACE_FETCH of that step; borrowed */
    int64_t committed_ns;         /* clock when the step was committed */
    /* One for each of graph->tracked, when the step took tensor statistics; else NULL. */
    const struct cse_tensor_statistics *statistics;
    int64_t steps_done; /* committed when the record is handed out */
} cse_record;

#endif
