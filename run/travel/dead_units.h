/* Units of a network that give nothing: of which step's samples none makes them other than zero,
 * and since when, by doing steps of the run again.
 *
 * Looked at are the values of ReLU, which are exactly zero where they are not positive; other
 * activations are hardly ever. A unit is an element of the last axis, of [sample, channel, height,
 * width] a channel. A unit that is dead at a step is taken to be so at all later ones, so that a
 * search by halves finds where it died; the two steps beside that place are always looked at. */
#ifndef CSE_RUN_TRAVEL_DEAD_UNITS_H
#define CSE_RUN_TRAVEL_DEAD_UNITS_H

#include "run/travel/kept_states.h"

enum { CSE_MOST_DEAD_LOOKS = 64 };

typedef struct cse_dead_unit {
    char *layer; /* the value's name, as csengine inspect has it */
    int64_t unit;
    int64_t first; /* the first step looked at from which on it gave nothing whenever looked at */
    int64_t alive; /* the last step before that at which it gave something; 0: none */
} cse_dead_unit;

typedef struct cse_dead_units {
    cse_dead_unit *items;
    int count, capacity;
    int64_t step;  /* at which they are dead */
    int64_t units; /* of all layers with ReLU */
    int looks;     /* steps that were done again; at most CSE_MOST_DEAD_LOOKS */
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
