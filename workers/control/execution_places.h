/* Where the processes of an execution run and its memory lies, on this host. */
#ifndef CSE_WORKERS_CONTROL_EXECUTION_PLACES_H
#define CSE_WORKERS_CONTROL_EXECUTION_PLACES_H

#include "workers/arena/arena_nodes.h"
#include "workers/control/execution_options.h"
#include "workers/placement/placement.h"

typedef struct cse_execution_places {
    cse_processors processors;
    cse_placement placement;
    int *nodes;                  /* of the memories, by process */
    cse_arena_nodes arena_nodes; /* in `nodes` */
    bool several_nodes;          /* else the arena needs no places */
} cse_execution_places;

/* CSE_UNAVAILABLE where processes are to be bound and the system tells of no processors. */
cse_status cse_execution_places_find(const cse_execution *execution, cse_execution_places *places);
void cse_execution_places_clear(cse_execution_places *places);

/* Number of the processor of replica or weight server `slot`; -1: it is not bound. */
int cse_execution_processor(const cse_execution_places *places, int slot);

#endif
