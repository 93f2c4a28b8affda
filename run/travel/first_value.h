/* The first value that two replays of a step computed otherwise, in the order of execution: which
 * node of the graph, in which microbatch, at which element, and what it was computed from. */
#ifndef CSE_RUN_TRAVEL_FIRST_VALUE_H
#define CSE_RUN_TRAVEL_FIRST_VALUE_H

#include "engine/code/codegen/generated_line.h"
#include "run/travel/replay.h"

enum { CSE_FIRST_VALUE_RUNS = 2, CSE_MOST_FIRST_INPUTS = 8 };

/* Something that the node reads. */
typedef struct cse_first_input {
    const char *name; /* of a value, of a state, of a tensor of the data */
    bool equal;       /* in both; else it was not compared: the data */
} cse_first_input;

typedef struct cse_first_value {
    bool found;
    const char *name, *op, *dtype, *file; /* in the first run; `file`: NULL where not known */
    const char *other_name;               /* in the second run */
    int line;
    cse_generated_line generated; /* in the first run's compiled step */
    bool backward;
    bool updates; /* it is a state, or its update */
    bool of_step; /* it is computed once a step */
    cse_first_input inputs[CSE_MOST_FIRST_INPUTS];
    int input_count;
    /* Where the values themselves were compared; not of states and their updates. */
    bool located;
    int64_t microbatch; /* the first that differs; -1: of_step */
    cse_shape shape;    /* of a microbatch */
    int64_t elements;   /* that differ in it */
    int64_t first;      /* of these */
    double values[CSE_FIRST_VALUE_RUNS];
    double largest; /* difference */
} cse_first_value;

/* The settings, ended by NULL, with which a replay of `step` keeps what this needs; in `arena`. */
const char *const *cse_first_value_settings(cse_arena *arena, int64_t step);

/* A regular expression that matches this text alone, in `arena`. */
const char *cse_exact_pattern(cse_arena *arena, const char *text);

/* By the statistics that both replays have of their last step, before which they have left the
 * states; then by doing the step again with
 * the values of that node kept. Texts are in `arena`. */
cse_status cse_first_value_find(const char *const model_dirs[CSE_FIRST_VALUE_RUNS],
                                const cse_replay replays[CSE_FIRST_VALUE_RUNS], int num_csx,
                                cse_arena *arena, cse_first_value *value);

#endif
