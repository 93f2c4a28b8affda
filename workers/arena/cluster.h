/* The shared memory of one cluster on one host: the types that coordinator and workers share.
 *
 * One memfd (or a file without a name: cse_cluster_layout.directory), the arena, holds everything
 * that must survive a killed process: words of units of work, weights and optimizer state, partial
 * sums, prefetched input, records for step closures. The coordinator creates it
 * (coordinator_side.h) and passes the descriptor, by which each worker maps it (worker_side.h).
 * Messages only start, stop and report. word.h and layout.h describe the protocol.
 *
 * Every worker process is attached to one slot; slots are numbered replicas first, then weight
 * servers, then input workers, then the mover. Steps are counted from 0 over the whole run ("step
 * s" is the s-th); "steps done" is a count, so it is also the number of the next step. */
#ifndef CSE_WORKERS_ARENA_CLUSTER_H
#define CSE_WORKERS_ARENA_CLUSTER_H

#include "engine/base/role.h"
#include "engine/base/types/rounding.h"
#include "engine/graph/graph.h"
#include "workers/hosts/host_cut.h"

/* A process's view of the arena. */
typedef struct cse_cluster cse_cluster;

enum { CSE_MAX_SLOTS = 1024, CSE_FAILURE_TEXT_BYTES = 1024 };

/* What the arena's sizes and contents follow from. */
typedef struct cse_cluster_layout {
    const cse_graph *graph;          /* after the last pass */
    const char *artefact_digest;     /* of the compiled step's manifest; NULL: any */
    const char *data_identity;       /* dataloader/identity/data_identity.h; NULL: not known */
    const unsigned char *states;     /* initial CSE_SPACE_STATE; copied; NULL: zeros */
    bool reserves_apart;             /* memory in a thread of its own: reserving.h */
    int replica_count;               /* num_csx, 1 or more */
    int weight_server_count;         /* 0: the replicas take that role */
    int input_worker_count;          /* of the whole cluster: num_csx * num_workers_per_csx */
    cse_rounding weight_grad_reduce; /* format of partial sums; see reduce.h */
    uint64_t seed;
    /* An existing directory: the arena is a file without a name in it, of which at most so many
     * bytes are in memory (residency.h); NULL: a memfd. */
    const char *directory;
    int64_t resident_bytes;
    bool by_layers; /* of such an arena: step_segments.h */
    int64_t first_step, num_steps;
    int record_count;         /* K: most records of committed steps not closed yet; 0: 16 */
    int64_t statistics_every; /* every so many steps take tensor statistics; 0: none */
    bool state_digests;       /* each step has the digests of its states: state_digests.h */
    double audit_fraction;    /* of microbatches that are computed twice: audit.h; 0: none */
    int ring_microbatches;    /* D: microbatches prefetched, at least M; 0: 2 to 8 steps */
    /* Of a run on several hosts (arena_hosts.h): its own number, how many places there are, which
     * of them have no host, which have the data (none: all), and the first cut. A host_count of 0
     * or 1: this host alone. A host without data has no input workers: its mover fills the ring. */
    int host, host_count;
    cse_host_set lost_hosts, data_hosts;
    const cse_host_cut *cut;
    const struct cse_arena_nodes *nodes; /* see arena_nodes.h; NULL: of no matter */
    /* States that are cut over these hosts (state_ranges.h): so many hosts have each part, and this
     * one leads; 0: each host has all states. */
    int state_copies, leader;
    bool cuts_gradients;          /* and so are the sums of gradients: gradient_ranges.h */
    const char *gather_directory; /* for a file of all of them (state_gather.h); NULL: memory */
} cse_cluster_layout;

#endif
