/* Which processor each process that computes runs on: a pure function of the machine and of how
 * many there are.
 *
 * Each core is used once before any is used twice, and the further hardware threads of cores come
 * last. Where there are fewer processes than cores, they are spread evenly over sockets, memories
 * and caches, so that each has the most bandwidth and cache. Their order is that of the machine:
 * replicas that are neighbours in the reduction tree share the nearest cache, those of a half of it
 * a memory or a socket, since shares of the microbatches are contiguous. No result depends on it.
 *
 * Weight servers have cores of their own, spread among those of the replicas; where there are not
 * enough, only replicas are bound. */
#ifndef CSE_WORKERS_PLACEMENT_PLACEMENT_H
#define CSE_WORKERS_PLACEMENT_PLACEMENT_H

#include <stdbool.h>

#include "engine/base/types/binding.h"
#include "workers/placement/processors.h"

typedef struct cse_placement {
    /* Places in the list of processors, replicas first, then weight servers; -1: not bound. */
    int *places;
    int replicas, weight_servers;
    bool bound;      /* the replicas are */
    int most_shared; /* processes on the processor that has most; 0: not bound */
} cse_placement;

/* `places` is allocated: cse_placement_clear. */
void cse_placement_make(const cse_processors *processors, const int counts[2], cse_binding binding,
                        cse_placement *placement);
void cse_placement_clear(cse_placement *placement);

/* The processor of process `index` (weight server s is replicas + s); NULL: it is not bound. */
const cse_processor *cse_placement_processor(const cse_processors *processors,
                                             const cse_placement *placement, int index);

#endif
