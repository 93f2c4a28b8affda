/* Where two runs part: the first step whose digests differ, by their chains alone; then, by doing
 * that step again in both, the states that differ before and after it, and their first elements. */
#ifndef CSE_RUN_TRAVEL_BISECTION_H
#define CSE_RUN_TRAVEL_BISECTION_H

#include "run/travel/first_value.h"
#include "run/travel/settings_differences.h"

enum { CSE_BISECTED_RUNS = 2 };

/* A state that differs. */
typedef struct cse_state_difference {
    const char *name;
    cse_dtype dtype;
    cse_shape shape;
    bool only_in[CSE_BISECTED_RUNS]; /* the other run has none, or one of another shape */
    int64_t elements;                /* that differ */
    int64_t first;                   /* of these */
    double values[CSE_BISECTED_RUNS];
    double largest; /* difference */
} cse_state_difference;

typedef struct cse_state_differences {
    cse_state_difference *list;
    int count, capacity;
} cse_state_differences;

typedef enum cse_parting {
    CSE_PARTING_NONE,    /* all steps that both have are the same */
    CSE_PARTING_SAMPLES, /* the step's samples are others */
    CSE_PARTING_STATES,  /* its samples are the same, its states are not */
} cse_parting;

typedef struct cse_bisection {
    cse_arena *arena;
    int64_t common; /* steps up to the one that differs that both have */
    cse_parting parting;
    int64_t step; /* the first that differs */
    /* Of each run: the first step of its chain that does not follow from the one before; 0: none,
     * as it should be. */
    int64_t broken[CSE_BISECTED_RUNS];
    cse_setting_difference *settings;
    int setting_count;
    bool replayed;                                  /* what follows is known */
    cse_replay_verdict verdicts[CSE_BISECTED_RUNS]; /* of the step, done again */
    cse_state_differences before, after;
    cse_first_value first_value; /* that the step computed otherwise */
} cse_bisection;

typedef struct cse_bisection_options {
    bool no_replay; /* the chains alone are compared */
    int num_csx;    /* 0: as the runs' last starts */
    cse_kept_states kept[CSE_BISECTED_RUNS];
} cse_bisection_options;

/* Release the bisection also after a failure.
 * CSE_NO_INPUT where the runs have no step with digests in common. */
cse_status cse_bisect(const char *const model_dirs[CSE_BISECTED_RUNS],
                      const cse_bisection_options *options, cse_bisection *bisection);
void cse_bisection_clear(cse_bisection *bisection);

#endif
