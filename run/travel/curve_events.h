/* At which step the loss and the norms of gradients of a run stopped being finite, and where they
 * jumped: by the curves that its store has, so nothing is done again.
 *
 * A value is compared with the median of the CSE_EVENT_WINDOW finite values before it, and its
 * distance above that is measured in the median of their distances from it (their deviation, at
 * least a hundredth of the median's magnitude): so the noise of a curve is no jump, whatever its
 * size, and a curve may begin at any height or lie below zero. A value with fewer than
 * CSE_EVENT_LEAST before it is not judged. */
#ifndef CSE_RUN_TRAVEL_CURVE_EVENTS_H
#define CSE_RUN_TRAVEL_CURVE_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "csengine/status.h"

enum { CSE_EVENT_WINDOW = 32, CSE_EVENT_LEAST = 8 };
/* So many deviations above the median a curve has left its noise. */
#define CSE_EVENT_DEVIATIONS 8.0

typedef struct cse_curve_jump {
    int64_t from; /* the first step of those in a row that are out of the noise; 0: there is none */
    int64_t step; /* of them, or of all steps where none is, the one highest above its median */
    double value, median, deviations; /* of `step` */
} cse_curve_jump;

typedef struct cse_curve_events {
    char *name;
    int64_t points, last_step;
    int64_t not_finite;      /* points that are not */
    int64_t not_finite_step; /* the first of them */
    cse_curve_jump jump;     /* the largest; step 0: no value is above its median */
    cse_curve_jump stretch;  /* the one that the last points are in; from 0: they are in none */
    double window[CSE_EVENT_WINDOW]; /* the last finite values, in turn */
    int64_t finite;
} cse_curve_events;

typedef struct cse_judged_curves {
    cse_curve_events *curves; /* [count]: loss, and each norm of gradients that was recorded */
    int count, capacity;
} cse_judged_curves;

/* CSE_NO_INPUT: the store has none of these curves. Clear also after a failure. */
cse_status cse_judged_curves_find(const char *model_dir, cse_judged_curves *events);
void cse_judged_curves_clear(cse_judged_curves *events);

/* The next point of a curve. */
void cse_curve_events_add(cse_curve_events *curve, int64_t step, double value);

#endif
