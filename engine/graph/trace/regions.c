/* Regions of the public API: the blocks of csengine/train.h as requests of new nodes. */
#include "engine/graph/trace/trace.h"

enum { MOST_LEVEL = 2 };

void cse_graphamp_disable(cse_step *step)
{
    (void)step;
    cse_trace_enter_request(&(cse_precision_request){ .graphamp_off = true });
}

void cse_graphamp_restore(cse_step *step)
{
    (void)step;
    cse_trace_leave();
}

/* The level plus 1, 0 for none; fails the step for any other number. */
static uint8_t checked_level(const char *name, int level)
{
    if (level == CSE_POL_NONE)
        return 0;
    if (level >= 0 && level <= MOST_LEVEL)
        return (uint8_t)(level + 1);
    cse_trace_fail(CSE_USAGE, "CSE_POL: %s is %d; accepted: 0, 1, 2, or CSE_POL_NONE", name, level);
    return 0;
}

void cse_pol_enter(cse_step *step, cse_pol_options options)
{
    (void)step;
    uint8_t forward = checked_level("level", options.level);
    uint8_t backward = checked_level("bwd_level", options.bwd_level);
    if (backward == 0)
        backward = forward;
    cse_trace_enter_request(
        &(cse_precision_request){ .pol_forward = options.enable_fwd ? forward : 0,
                                  .pol_backward = options.enable_bwd ? backward : 0 });
}

void cse_recompute_enter(cse_step *step)
{
    (void)step;
    cse_trace_enter_recompute();
}

void cse_recompute_leave(cse_step *step)
{
    (void)step;
    cse_trace_leave();
}

void cse_pol_leave(cse_step *step)
{
    (void)step;
    cse_trace_leave();
}
