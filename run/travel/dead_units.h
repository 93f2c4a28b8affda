/* Dead units of a network, whose output is zero for every sample of a step, and the step from which
 * on they are dead. Both are found by doing steps of the run again.
 *
 * The units are those of ReLU, whose output is exactly zero where its input is not positive; that
 * of other activations is hardly ever zero. A unit is an element of the last axis, of [sample,
 * channel, height, width] a channel. A unit that is dead at a step is taken to be so at all later
 * ones, so that a binary search finds where it died; the two steps beside that place are always
 * looked at. */
#ifndef CSE_RUN_TRAVEL_DEAD_UNITS_H
#define CSE_RUN_TRAVEL_DEAD_UNITS_H

#include <stdbool.h>

#include "run/travel/kept_states.h"

enum { CSE_MOST_DEAD_LOOKS = 64 };

typedef struct cse_dead_unit {
    char *layer; /* the value's name, as csengine inspect has it */
    int64_t unit;
    int64_t first; /* the first of the steps looked at from which on it was dead at all of them */
    int64_t alive; /* the last of them before that, at which it was not dead; 0: none */
} cse_dead_unit;

typedef struct cse_dead_units {
    cse_dead_unit *items;
    int count, capacity;
    int64_t step;  /* at which they are dead */
    int64_t units; /* of all layers with ReLU */
    int looks;     /* steps that were looked at, each by a replay; at most CSE_MOST_DEAD_LOOKS */
    bool proved;   /* all of them have the digests of the run */
} cse_dead_units;

typedef struct cse_dead_question {
    const char *model_dir;
    int64_t step; /* 0: the last of the run */
    int num_csx;  /* 0: as the run's last start */
    cse_kept_states kept;
} cse_dead_question;

/* Clear it also after a failure. CSE_NO_INPUT: no such step, or no ReLU; CSE_DATA: what was
 * computed is not what the run had. */
cse_status cse_dead_units_find(const cse_dead_question *question, cse_dead_units *found);
void cse_dead_units_clear(cse_dead_units *found);

#endif
