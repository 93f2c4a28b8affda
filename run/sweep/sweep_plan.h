/* A sweep: the file that describes it, and the trials that it makes, as a pure function of that
 * file.
 *
 * A trial is a value for each parameter. With `grid` trials are all combinations; with `random` and
 * `halving` each value is drawn by (seed, trial, parameter), so that a longer sweep begins with the
 * trials of a shorter one. Successive halving (Jamieson, Talwalkar 2016) trains all trials to the
 * first rung, and of each rung the best part of 1 / eta to the next one, eta times as far. */
#ifndef CSE_RUN_SWEEP_SWEEP_PLAN_H
#define CSE_RUN_SWEEP_SWEEP_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/config/yaml.h"

enum { CSE_SWEEP_MOST_TRIALS = 10000, CSE_SWEEP_MOST_PARAMETERS = 64, CSE_SWEEP_MOST_RUNGS = 32 };

typedef enum cse_sweep_method {
    CSE_SWEEP_GRID,
    CSE_SWEEP_RANDOM,
    CSE_SWEEP_HALVING
} cse_sweep_method;

typedef enum cse_sweep_kind {
    CSE_SWEEP_CHOICE,
    CSE_SWEEP_UNIFORM,
    CSE_SWEEP_LOG_UNIFORM,
    CSE_SWEEP_INT
} cse_sweep_kind;

typedef struct cse_sweep_parameter {
    const char *path; /* of the setting, as in --set */
    cse_sweep_kind kind;
    double low, high;    /* of the ranges */
    const char **values; /* of a choice, as text of YAML */
    int count;
} cse_sweep_parameter;

typedef struct cse_sweep_plan {
    const char *name, *config, *metric;
    cse_sweep_method method;
    bool maximizes;
    uint64_t seed;
    int trials;
    cse_sweep_parameter *parameters;
    int parameter_count;
    const char **settings; /* PATH=VALUE of all trials; ended by NULL */
    int rungs;
    int64_t rung_steps[CSE_SWEEP_MOST_RUNGS]; /* 0: as the configuration says */
    int rung_trials[CSE_SWEEP_MOST_RUNGS];    /* that are trained to it */
    const char *identity;                     /* the file in one line, by which it is known again */
} cse_sweep_plan;

/* Reads the file into `arena`; CSE_CONFIG with the place and what is accepted. */
cse_status cse_sweep_plan_read(cse_arena *arena, const char *path, cse_sweep_plan *plan);
/* The same of a text; `source` is its name in messages. */
cse_status cse_sweep_plan_parse(cse_arena *arena, const char *source, const char *text,
                                cse_sweep_plan *plan);

/* Whether less is better, by the name of a series. */
bool cse_sweep_is_loss(const char *metric);

/* The value of a parameter in a trial (from 0), as text of YAML in `arena`. */
const char *cse_sweep_value(const cse_sweep_plan *plan, int trial, int parameter, cse_arena *arena);

#endif
