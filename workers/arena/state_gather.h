/* The whole states of a run whose states are cut over hosts, on the host that leads: in a file
 * without a name, of which no more than a window is in the arena at a time.
 *
 * While that host stands before a step, no other one changes its part (state_ranges.h). Its
 * coordinator asks for some chunks, its mover fetches them into their place in the arena, and from
 * there they go to the file, until all are there. */
#ifndef CSE_WORKERS_ARENA_STATE_GATHER_H
#define CSE_WORKERS_ARENA_STATE_GATHER_H

#include "workers/arena/cluster.h"

typedef struct cse_state_gather cse_state_gather;

/* To be called again and again while the states stand after `steps` steps: *whole is whether all of
 * them can be read, and, on another host, whether the leading one has them. `over`: this host does
 * no further step. States that are not cut are whole. CSE_IO, CSE_TEMPORARY: they cannot be
 * gathered; CSE_UNAVAILABLE: a part is lost. */
cse_status cse_cluster_gather(cse_cluster *cluster, int64_t steps, bool over, bool *whole);

/* The leading host has begun what follows these steps: it wants no part of them. */
void cse_cluster_note_leader_left(cse_cluster *cluster);

/* The gathered states after `steps` steps; NULL: they are not there. */
const unsigned char *cse_cluster_gathered_view(const cse_cluster *cluster, int64_t steps);
bool cse_cluster_has_gathered(const cse_cluster *cluster, const void *values);

/* Frees the memory for states that other hosts have, after the arena was filled. */
void cse_cluster_drop_absent(const cse_cluster *cluster);

/* Whether a part of the states is lost with its hosts: the run cannot go on from where it is. */
bool cse_cluster_lacks_states(const cse_cluster *cluster);
/* Whether the host has what it is to have after `steps` steps, at the end of an execution: all
 * states where it leads. */
bool cse_cluster_has_its_states(const cse_cluster *cluster, int64_t steps);
/* Whether an arena can be filled from the one before: CSE_UNAVAILABLE where that has a part of the
 * states alone, and another one. */
cse_status cse_cluster_check_cut(const cse_cluster *cluster, const cse_cluster *before);

void cse_state_gather_destroy(cse_state_gather **gather);

#endif
