/* A new run that shares the steps of another one up to a step. */
#ifndef CSE_RUN_TRAVEL_FORK_RUN_H
#define CSE_RUN_TRAVEL_FORK_RUN_H

#include "run/travel/first_use.h"
#include "run/travel/replay.h"

typedef struct cse_fork_options {
    const char *model_dir, *to; /* of the run, and of the new one: it has no run */
    /* That both share; 0: the last one before the first use of a sample of `without`. */
    int64_t step;
    const int64_t *without; /* [without_count]: samples that the new run never has */
    int64_t without_count;
    /* Where the step has to be done again: processes, 0: as the run had, and states that earlier
     * replays left, or it leaves. */
    int num_csx;
    cse_kept_states kept;
    const char *const *confinement; /* of that replay, as in cse_replay_options */
    /* Of the new run, made before by cse_fork_configuration; NULL: it is made now. */
    const char *configuration;
} cse_fork_options;

typedef struct cse_fork {
    int64_t step;            /* that both share; 0: none, the new run begins as the other one did */
    cse_first_use first_use; /* of a sample of `without`; step 0: none up to that step */
    int64_t linked;          /* checkpoints that both runs have, as one file */
    cse_text words;          /* the replay's verdict; "": there is a checkpoint of the step */
    char chain[2 * CSE_CHAIN_BYTES + 1]; /* of both after the step; "": not known */
    const char *configuration; /* of the new run: the other one's, going on from that checkpoint */
    cse_arena *arena;
} cse_fork;

/* Makes the folder `to` so that a start there goes on from the step: checkpoints as hard links, the
 * store with the shared steps, the chain. CSE_DATA where the step cannot be done again with the
 * run's bits; CSE_USAGE where a sample of `without` was used up to the step, or none of them in any
 * step and no step is given. Release the fork also after a failure. */
cse_status cse_fork_run(const cse_fork_options *options, cse_fork *fork);
void cse_fork_clear(cse_fork *fork);

/* The configuration of the new run, in the arena: the other one's less what `without` leaves out.
 * With a step it goes on from the newest checkpoint of its folder. */
cse_status cse_fork_configuration(const cse_fork_options *options, cse_arena *arena,
                                  const char **yaml);

#endif
