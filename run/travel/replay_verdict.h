/* What a replay found, and whether the steps that were done again are those of the run. */
#ifndef CSE_RUN_TRAVEL_REPLAY_VERDICT_H
#define CSE_RUN_TRAVEL_REPLAY_VERDICT_H

#include <limits.h>

#include "engine/base/text.h"
#include "run/travel/run_chain.h"

typedef enum cse_replay_verdict {
    CSE_REPLAY_SAME,    /* the digests of all steps are those of the run */
    CSE_REPLAY_UNKNOWN, /* the run has no digests of some of them */
    CSE_REPLAY_OTHER,   /* those of `differs` are others */
} cse_replay_verdict;

/* "same", "unknown", "other": for programs. */
const char *cse_replay_verdict_name(cse_replay_verdict verdict);

typedef struct cse_replay {
    char folder[PATH_MAX];     /* of its own; "": nothing had to be done */
    char checkpoint[PATH_MAX]; /* with the states after `step` */
    int64_t from, step;        /* steps [from, step) were done again */
    bool from_kept;            /* from states that an earlier replay left (kept_states.h) */
    cse_replay_verdict verdict;
    int64_t differs;                      /* the first step whose digests are others */
    bool samples_differ;                  /* then: of its samples; else those of the states alone */
    cse_text words;                       /* the verdict for people */
    unsigned char chain[CSE_CHAIN_BYTES]; /* of the run after `step`, where it has one */
    bool has_chain;                       /* and the checkpoint, where nothing had to be done */
} cse_replay;

/* Sets verdict, words, differs, and chain of step 0 by the chains of the run and of its replay
 * (empty where nothing had to be done). */
void cse_replay_judge(const char *model_dir, const cse_run_chain *run, const cse_run_chain *again,
                      cse_replay *replay);

#endif
