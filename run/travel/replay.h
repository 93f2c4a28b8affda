/* A replay: steps of a run that is over or goes on, done again in a folder of their own, from the
 * nearest checkpoint of the run or from its start, by a `csengine start` of the run's configuration
 * with any number of processes. The run is not touched. By the digests that both have of each step,
 * the replay knows whether it has the run's bits. */
#ifndef CSE_RUN_TRAVEL_REPLAY_H
#define CSE_RUN_TRAVEL_REPLAY_H

#include <limits.h>

#include "engine/base/arena.h"
#include "engine/base/text.h"
#include "run/travel/run_chain.h"

typedef struct cse_replay_options {
    const char *model_dir;
    int64_t step;      /* to be reached; 0: the states that training begins with */
    int num_csx;       /* 0: as the run's last start */
    int64_t every;     /* the states of each step that is a multiple are kept as well; 0: of none */
    int64_t latest;    /* the newest checkpoint to begin from; INT64_MAX: any */
    const char *place; /* the folder that its own is made in; NULL: $TMPDIR */
    const char *const
        *settings; /* "PATH=VALUE", ended by NULL: other than the run's; may be NULL */
} cse_replay_options;

typedef enum cse_replay_verdict {
    CSE_REPLAY_SAME,    /* the digests of all steps are those of the run */
    CSE_REPLAY_UNKNOWN, /* the run has no digests of some of them */
    CSE_REPLAY_OTHER,   /* those of `differs` are others */
} cse_replay_verdict;

typedef struct cse_replay {
    char folder[PATH_MAX];     /* of its own; "": nothing had to be done */
    char checkpoint[PATH_MAX]; /* with the states after `step` */
    int64_t from, step;        /* steps [from, step) were done again */
    cse_replay_verdict verdict;
    int64_t differs;                      /* the first step whose digests are others */
    bool samples_differ;                  /* then: of its samples; else those of the states alone */
    cse_text words;                       /* the verdict for people */
    unsigned char chain[CSE_CHAIN_BYTES]; /* of the run after `step`, where it has one */
    bool has_chain;
} cse_replay;

/* Release the replay also after a failure. CSE_NO_INPUT where the run has not done the step, or
 * keeps no configuration; else what the replay failed with. */
cse_status cse_replay_run(const cse_replay_options *options, cse_replay *replay);
/* Removes its folder. */
void cse_replay_clear(cse_replay *replay);

/* The configuration of a run's last start, in the arena. */
cse_status cse_replay_configuration(const char *model_dir, cse_arena *arena, const char **yaml);

/* The newest checkpoint of the run at or before a step whose chain, where it has one, is that of
 * the run; false: there is none. */
bool cse_run_checkpoint_before(const char *model_dir, const cse_run_chain *chain, int64_t step,
                               int64_t *found);

#endif
