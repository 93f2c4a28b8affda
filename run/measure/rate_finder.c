/* The schedule is the engine's ExponentialLR with one step as its unit. */
#include "run/measure/rate_finder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/base/arena.h"
#include "run/measure/variants.h"

static double factor_of(const cse_rate_finder_options *o)
{
    return pow(o->last / o->first, 1 / (double)(o->steps - 1));
}

/* The point of the steepest fall before the least one, by central differences: rates are evenly
 * spaced in their logarithm. */
static int64_t steepest_before(const cse_rate_point *points, int64_t least)
{
    int64_t best = -1;
    double most = 0;
    for (int64_t i = 1; i < least; i++) {
        const double fall = points[i - 1].smoothed - points[i + 1].smoothed;
        if (fall <= most)
            continue;
        most = fall;
        best = i;
    }
    return best;
}

void cse_rates_judge(const cse_rate_finder_options *o, const float *losses, int64_t count,
                     cse_found_rates *found)
{
    double average = 0, left = 1;
    *found = (cse_found_rates){ .steepest = -1 };
    found->points = cse_calloc((size_t)count + 1, sizeof *found->points);
    for (int64_t i = 0; i < count && !found->diverged; i++) {
        const double loss = (double)losses[i];
        average = o->smoothing * average + (1 - o->smoothing) * loss;
        left *= o->smoothing;
        const double smoothed = average / (1 - left);
        const double least = found->points[found->least].smoothed;
        found->diverged = !isfinite(loss) || (i > 0 && smoothed > o->divergence * least);
        if (!isfinite(loss))
            break;
        found->points[i] = (cse_rate_point){ .rate = o->first * pow(factor_of(o), (double)i),
                                             .loss = loss,
                                             .smoothed = smoothed };
        if (smoothed < found->points[found->least].smoothed)
            found->least = i;
        found->count = i + 1;
    }
    found->steepest = steepest_before(found->points, found->least);
}

void cse_found_rates_clear(cse_found_rates *found)
{
    free(found->points);
    *found = (cse_found_rates){ .points = NULL };
}

/* While it trains: whether the loss has not diverged yet. */
static bool goes_on(void *self, const float *losses, int64_t count)
{
    const cse_rate_finder_options *o = self;
    cse_found_rates found;
    if (o->on_step != NULL)
        o->on_step(o->self, count);
    cse_rates_judge(o, losses, count, &found);
    const bool diverged = found.diverged;
    cse_found_rates_clear(&found);
    return !diverged;
}

cse_status cse_rates_find(const cse_rate_finder_options *o, cse_found_rates *found)
{
    char schedule[256];
    cse_variants *variants = NULL;
    cse_variant_result result = { 0 };
    cse_rate_finder_options own = *o;
    *found = (cse_found_rates){ .points = NULL };
    const cse_variants_options options = { .config = o->config,
                                           .settings = o->settings,
                                           .steps = o->steps,
                                           .self = &own,
                                           .goes_on = goes_on };
    snprintf(schedule, sizeof schedule,
             "schedulers=[{ExponentialLR: {initial_learning_rate: %.17g, total_iters: 1, "
             "decay_rate: %.17g}}]",
             o->first, factor_of(o));
    const char *const settings[] = { schedule, "loop.diverged_factor=0", NULL };
    CSE_TRY(cse_variants_new(&options, &variants));
    cse_status status = cse_variants_run(variants, settings, &result);
    cse_variants_destroy(&variants);
    if (status == CSE_OK && result.count == 0)
        status = cse_fail(CSE_FAILED, "the training did not begin: %s", result.message);
    if (status == CSE_OK)
        cse_rates_judge(o, result.losses, result.count, found);
    if (status == CSE_OK && found->count == 0)
        status =
            cse_fail(CSE_FAILED, "the loss of the first step is no number: %s", result.message);
    if (status == CSE_OK && result.exit_code != 0 && !result.was_ended)
        found->diverged = true;
    cse_variant_result_clear(&result);
    return status;
}
