/* Which checkpoints of a run stay so that a past step is near one of them: all of the newest, and
 * behind them fewer, the older the fewer, by powers of two, but never with so long a gap that its
 * steps take more than a budget to be done again.
 *
 * Older ones are looked at from the oldest on; one goes where the gap between its neighbours that
 * stay is no longer than the younger one is old, and not longer than the budget allows. So the
 * number that stays grows by the logarithm of the steps, and by steps over those of the budget; and
 * what stays now is all that the next look needs. */
#ifndef CSE_RUN_SAVING_CHECKPOINT_LADDER_H
#define CSE_RUN_SAVING_CHECKPOINT_LADDER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cse_checkpoint_ladder {
    int64_t newest;   /* so many stay in any case; at least 1 */
    int64_t most_gap; /* steps between two that stay, where one goes; at least 1 */
} cse_checkpoint_ladder;

/* steps[count], ascending, from 1: a run can be done again from its beginning as well. stays[i] is
 * set for those that stay, and may be so before. */
void cse_checkpoint_ladder_choose(const cse_checkpoint_ladder *ladder, const int64_t *steps,
                                  int count, bool *stays);

/* The most steps that take so many seconds together: at least 1. */
int64_t cse_checkpoint_ladder_gap(double seconds, double step_seconds);

#endif
