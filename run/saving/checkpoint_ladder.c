/* One pass is enough: a removal makes gaps longer, and so lets none go that had to stay. */
#include "run/saving/checkpoint_ladder.h"

#define MOST_STEPS INT32_MAX /* that a run may have */

void cse_checkpoint_ladder_choose(const cse_checkpoint_ladder *ladder, const int64_t *steps,
                                  int count, bool *stays)
{
    int64_t before = 0;
    for (int i = 0; i < count; i++) {
        if (!stays[i] && i < count - ladder->newest && i + 1 < count) {
            const int64_t gap = steps[i + 1] - before, age = steps[count - 1] - steps[i + 1];
            stays[i] = gap > age || gap > ladder->most_gap;
        } else {
            stays[i] = true;
        }
        before = stays[i] ? steps[i] : before;
    }
}

int64_t cse_checkpoint_ladder_gap(double seconds, double step_seconds)
{
    const double steps = step_seconds > 0 ? seconds / step_seconds : MOST_STEPS;
    return steps >= MOST_STEPS ? MOST_STEPS : steps >= 1 ? (int64_t)steps : 1;
}
