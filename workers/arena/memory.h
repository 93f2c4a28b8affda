/* The memory of an arena: one memfd, created by the coordinator and mapped by every worker. */
#ifndef CSE_WORKERS_ARENA_MEMORY_H
#define CSE_WORKERS_ARENA_MEMORY_H

#include "workers/arena/cluster.h"

/* Creates and initialises the arena. Reserves all bytes that a run without failures touches, so
 * that a full tmpfs fails here (CSE_TEMPORARY) and not as SIGBUS later. CSE_CONFIG for counts out
 * of range. */
cse_status cse_cluster_create(const cse_cluster_layout *layout, cse_cluster **cluster);
/* The same arena for this process alone, without a descriptor: memory is taken when it is touched,
 * and its states are zeros. By it a plan counts what a run would do. */
cse_status cse_cluster_imagine(const cse_cluster_layout *layout, cse_cluster **cluster);
/* The head of that arena: all its sizes, without an arena. Fails as cse_cluster_create does. */
struct cse_arena_head;
cse_status cse_arena_plan(const cse_cluster_layout *layout, struct cse_arena_head *head);

/* Maps the arena of `descriptor` (takes ownership; cse_cluster_destroy closes it).
 * CSE_UNAVAILABLE when it is not an arena of this version. */
cse_status cse_cluster_map(int descriptor, cse_cluster **cluster);

/* Unmaps, closes the descriptor, frees the view. Other processes keep their mapping; the memory is
 * freed with the last of them. */
void cse_cluster_destroy(cse_cluster **cluster);

/* The digest of the manifest of the compiled step that this cluster runs; NULL: any. */
const char *cse_cluster_artefact_digest(const cse_cluster *cluster);

/* The identity of the data files, as cse_data_identity_print writes it; NULL: not known. */
const char *cse_cluster_data_identity(const cse_cluster *cluster);

/* The memfd; close-on-exec is set. A launcher passes it on (dup to a known number in the child). */
int cse_cluster_descriptor(const cse_cluster *cluster);

/* Reserves all memory that a run without failures touches; what is reserved stays as it is.
 * CSE_TEMPORARY when memory is short. */
cse_status cse_arena_reserve(cse_cluster *cluster);
/* Reserves memory for the partial sums that `replicas` replicas make, or for the one whose first
 * microbatch is given. CSE_TEMPORARY when memory is short. */
cse_status cse_arena_reserve_partial_sums(cse_cluster *cluster, int replicas);
/* Writes the layout's cut and lost hosts, while no worker is there. */
void cse_arena_place_hosts(cse_cluster *cluster, const cse_cluster_layout *layout);
cse_status cse_arena_reserve_partial_sum(cse_cluster *cluster, int microbatch);

#endif
