/* An arena whose coordinator has died: another one goes on with it.
 *
 * Call only when all processes that had mapped it have ended. What they had claimed is freed as
 * after the death of one worker, a hold of the dead coordinator is ended, and everything else stays
 * as it stands: states, the step in flight, prefetched input, and the records whose places were not
 * free yet, which are handed out again.
 *
 * A coordinator that runs the next steps of the same training goes on with its own arena, too. */
#ifndef CSE_WORKERS_ARENA_INHERIT_H
#define CSE_WORKERS_ARENA_INHERIT_H

#include "workers/arena/cluster.h"

typedef struct cse_arena_facts {
    int64_t freed; /* steps whose records are gone: the first one that is handed out again */
    int64_t steps_done, end_step;
} cse_arena_facts;

/* Reads what it says of itself; the descriptor stays the caller's. CSE_UNAVAILABLE when it is not
 * an arena of this version. */
cse_status cse_arena_look(int descriptor, cse_arena_facts *facts);

/* Whether a process that was attached to a slot may still be there. */
bool cse_cluster_has_survivors(const cse_cluster *cluster);

/* Maps the arena (takes ownership of the descriptor). CSE_UNAVAILABLE when it is not the one that
 * cse_cluster_create would make of `layout` now: another compiled step, other data, other numbers
 * of processes or steps. `layout->states` is ignored. */
cse_status cse_cluster_inherit(const cse_cluster_layout *layout, int descriptor,
                               cse_cluster **cluster);

/* Frees what its dead processes had claimed; the coordinator then starts new ones. */
void cse_cluster_settle(cse_cluster *cluster);

/* Goes on in an arena whose steps are all done, and that has no process: with layout->num_steps
 * more. CSE_UNAVAILABLE when `layout` differs in anything else, or does not begin where the arena
 * stands; CSE_TEMPORARY when memory is short. */
cse_status cse_cluster_extend(cse_cluster *cluster, const cse_cluster_layout *layout);

/* Returns the memory of all but the states and the records to the kernel: no step follows. */
void cse_cluster_shrink(cse_cluster *cluster);

#endif
