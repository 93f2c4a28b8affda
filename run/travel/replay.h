/* A replay: steps of a run that is over or goes on, done again in a folder of their own, from the
 * nearest checkpoint of the run or from its start, by a `csengine start` of the run's configuration
 * with any number of processes. The run is not touched. By the digests that both have of each step,
 * the replay knows whether it has the run's bits. */
#ifndef CSE_RUN_TRAVEL_REPLAY_H
#define CSE_RUN_TRAVEL_REPLAY_H

#include <limits.h>

#include "engine/base/arena.h"
#include "engine/base/text.h"
#include "engine/graph/graph.h"
#include "run/travel/kept_states.h"
#include "run/travel/replay_verdict.h"

typedef struct cse_replay_options {
    const char *model_dir; /* NULL: cse_replay_from */
    int64_t step;          /* to be reached; 0: the states that training begins with */
    int num_csx;           /* 0: as the run's last start */
    int64_t every;  /* the states of each step that is a multiple are kept as well; 0: of none */
    int64_t latest; /* the newest checkpoint to begin from; INT64_MAX: any */
    /* Names of what `step` computed whose values are kept (numerics.values); NULL: of nothing. The
     * step is done again even where it has a checkpoint. */
    const char *values;
    /* A folder with the states after step - 1, which another replay has left (`every`): it begins
     * with these. NULL: with a checkpoint of the run, or states that were kept. */
    const char *begin;
    const char *place; /* the folder that its own is made in; NULL: $TMPDIR */
    /* It may begin with states that an earlier replay left, and leaves its own. Not where
     * `settings` are such that its states are not the run's. */
    cse_kept_states kept;
    /* Where its compiled steps lie; NULL: where those of the run do, or, when it is confined, in
     * its own folder. A confined one may write there. */
    const char *compile_dir;
    /* Options of its `csengine start`, which confine it to its own folder and others, ended by
     * NULL; NULL: it is not confined. */
    const char *const *confinement;
    const char *const
        *settings; /* "PATH=VALUE", ended by NULL: other than the run's; may be NULL */
} cse_replay_options;

/* Release the replay also after a failure. CSE_NO_INPUT where the run has not done the step, or
 * keeps no configuration; else what the replay failed with. */
cse_status cse_replay_run(const cse_replay_options *options, cse_replay *replay);

typedef struct cse_replay_checkpoint {
    const char *path;
    int64_t from;              /* its step */
    const char *configuration; /* a file */
} cse_replay_checkpoint;

/* Steps after a checkpoint, which needs no run. Of the options it takes `step`, `num_csx`, `place`
 * and `compile_dir`. Gives the chain of what was done, which the caller compares, and releases with
 * the replay, also after a failure. CSE_UNAVAILABLE where the steps cannot be done, as without the
 * data that it was trained on. */
cse_status cse_replay_from(const cse_replay_options *options,
                           const cse_replay_checkpoint *checkpoint, cse_replay *replay,
                           cse_run_chain *again);

/* The folder of what a replay in this folder has compiled, in the arena; NULL: not known. */
const char *cse_replay_artefact(const char *folder, cse_arena *arena);
/* The graph that a replay in this folder has compiled; the caller destroys it. */
cse_status cse_replay_graph(const char *folder, cse_graph **graph);
/* Removes its folder. */
void cse_replay_clear(cse_replay *replay);

/* The configuration of a run's last start, in the arena. */
cse_status cse_replay_configuration(const char *model_dir, cse_arena *arena, const char **yaml);

#endif
