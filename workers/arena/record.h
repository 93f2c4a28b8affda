/* The record of a committed step, as the coordinator hands it out. */
#ifndef CSE_WORKERS_ARENA_RECORD_H
#define CSE_WORKERS_ARENA_RECORD_H

#include <stdint.h>

/* When the parts of a step ended, by cse_clock_ns, and what was counted until it was handed out; 0:
 * not known. No result depends on them. */
typedef struct cse_step_times {
    int64_t computed_ns; /* all partial sums were there, those of other hosts as well */
    /* The update waited for the coordinator: for a snapshot, a pause, or places of records. */
    int64_t held_from_ns, held_until_ns;
    /* Since cse_cluster_count_waits: waits for input, added over the replicas that share a step,
     * and for sums of other hosts. */
    int64_t input_wait_ns, exposed_ns;
    int replicas;
} cse_step_times;

/* The chain of digests after a step (run/session/step_chain.h), where a coordinator's successor
 * finds it. */
enum { CSE_CHAIN_BYTES = 32 };
typedef struct cse_chain_place {
    _Atomic int64_t sequence; /* 1 + the steps that were done then, written last; 0: none */
    unsigned char chain[CSE_CHAIN_BYTES];
} cse_chain_place;

typedef struct cse_record {
    int64_t step;                 /* 0-based number of the step that was committed */
    const unsigned char *fetched; /* CSE_SPACE_FETCH of that step; borrowed */
    int64_t committed_ns;         /* clock when the step was committed */
    /* One for each of graph->tracked, when the step took tensor statistics; else NULL. */
    const struct cse_tensor_statistics *statistics;
    uint64_t states_digest; /* with several hosts: see states_digest.h; else 0 */
    /* Of the states after the step, by update chunk (state_digests.h); count 0: it has none. */
    const uint64_t *state_digests;
    int state_digest_count;
    const cse_chain_place *chain_before; /* NULL: not known */
    cse_chain_place *chain;              /* to be filled; NULL: there is no place */
    int64_t steps_done;                  /* committed when the record is handed out */
    cse_step_times times;
} cse_record;

#endif
