/* The doorbell: one futex word of the arena that every process can wait for.
 *
 * It is only ever incremented, by anybody at any time, so a kill in between leaves nothing
 * inconsistent. A ring is only a hint: every wait has a timeout, and a process that wakes reads the
 * words themselves. Sleepers store in their slot what they wait for; a ring that nobody waits for
 * costs no system call. */
#ifndef CSE_WORKERS_ARENA_DOORBELL_H
#define CSE_WORKERS_ARENA_DOORBELL_H

#include <stdatomic.h>

#include "workers/arena/cluster.h"

/* Events that processes sleep for; a ring announces a mask of them. */
typedef enum cse_doorbell_event {
    CSE_DOORBELL_STAGE = 1,   /* the step word moved */
    CSE_DOORBELL_COMMIT = 2,  /* a step was committed */
    CSE_DOORBELL_FILLED = 4,  /* a microbatch was filled */
    CSE_DOORBELL_CONTROL = 8, /* the coordinator changed something */
    CSE_DOORBELL_RECORD = 16, /* for the coordinator: a step was committed */
    CSE_DOORBELL_URGENT = 32, /* for the coordinator: see CSE_WAKE_URGENT */
    CSE_DOORBELL_FREED = 64,  /* about half of the input ring was freed */
    CSE_DOORBELL_MOVE = 128,  /* for the mover: a partial sum is there, or news of another host */
} cse_doorbell_event;

/* Increments the doorbell and wakes the sleepers for one of `events`. A full fence lies between the
 * caller's stores and the reading of the sleepers' masks. */
void cse_doorbell_ring(cse_cluster *cluster, uint32_t events);

/* Sleeps for `events`, at most `timeout_ns`, while the doorbell has the value `seen`; `sleeping` is
 * the caller's own mask. Load `seen` before looking for work, so that no ring is missed. */
void cse_doorbell_wait(cse_cluster *cluster, _Atomic uint32_t *sleeping, uint32_t events,
                       uint32_t seen, int64_t timeout_ns);

#endif
