/* What an arena knows of the other hosts of its run.
 *
 * Every host has an arena of its own with the whole state of the run: it computes the partial sums
 * of its own microbatches, gets those of the other hosts by its mover (workers/worker/mover.h),
 * and then does the rest of the step itself, with the same bits. So the death of a
 * host loses no state, and a host is at most one step ahead of another one: it cannot end step s
 * without the others' sums of step s, and begins no step s + 1 before all others have its own sums
 * of step s.
 *
 * The cut is written by the coordinator alone, in two places of which the newer counts from its
 * first step on. A host that is lost is out of the sums: what the others lack of it, each of them
 * computes by itself, until a later cut gives its microbatches to somebody. */
#ifndef CSE_WORKERS_ARENA_ARENA_HOSTS_H
#define CSE_WORKERS_ARENA_ARENA_HOSTS_H

#include "workers/arena/cluster.h"
#include "workers/hosts/host_cut.h"

/* From cut->first_step on, which must be above the number of steps done, and must not be reached
 * by any host before all have the cut: the caller releases no step that lets it be reached.
 * CSE_TEMPORARY when the cut before has not begun to count yet, or memory is missing. */
cse_status cse_cluster_set_cut(cse_cluster *cluster, const cse_host_cut *cut);

/* Hosts of the set are lost: nothing is awaited of them, nor sent to them. Replaces the set. A host
 * is taken out only when a cut counts that gives it nothing. CSE_TEMPORARY where sums of gradients
 * are cut over hosts, and memory for what this host computes in place of others is missing. */
cse_status cse_cluster_lose_hosts(cse_cluster *cluster, const cse_host_set *lost);

/* Another host has done so many steps: it has all sums of those before. */
void cse_cluster_note_host(cse_cluster *cluster, int host, int64_t steps_done);

/* How long this host's sums have waited for those of others (exposed communication). */
int64_t cse_cluster_exposed_ns(const cse_cluster *cluster);

/* What movers of this host have exchanged with another host since the arena was made; a mover notes
 * it ten times a second. For reports: no result depends on it. */
typedef struct cse_host_traffic {
    int64_t frames_sent, frames_received, bytes_sent, bytes_received; /* as on the wire */
    int64_t connections; /* that were made; the first one counts */
    int64_t refused;     /* frames, and connections */
    int64_t retransmits; /* of link.h */
} cse_host_traffic;
cse_host_traffic cse_cluster_traffic(const cse_cluster *cluster, int host);
/* Of a mover: what was added. */
void cse_cluster_note_traffic(cse_cluster *cluster, int host, const cse_host_traffic *added);

#endif
