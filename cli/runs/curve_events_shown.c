/* A line for each curve and fact, with the step in it; JSON for programs. */
#include "cli/runs/curve_events_shown.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/terminal/json_values.h"
#include "cli/terminal/printing.h"

static void print_jump(const cse_curve_events *curve)
{
    const cse_curve_jump *jump = &curve->jump;
    if (curve->finite <= CSE_EVENT_LEAST)
        cse_print("%s: %" PRId64 " finite points are too few to tell a jump, it needs %d\n",
                  curve->name, curve->finite, CSE_EVENT_LEAST + 1);
    else if (jump->from == 0)
        cse_print("%s: no jump: none of %" PRId64 " finite points is more than %g deviations "
                  "above the median of those before\n",
                  curve->name, curve->finite, CSE_EVENT_DEVIATIONS);
    else
        cse_print("%s: the largest jump begins at step %" PRId64 ", at step %" PRId64
                  " it is %.7g, %.3g deviations above the median %.7g of the points before\n",
                  curve->name, jump->from, jump->step, jump->value, jump->deviations, jump->median);
}

static bool print_not_finite(const cse_curve_events *curve)
{
    if (curve->not_finite > 0)
        cse_print("%s: not finite at %" PRId64 " of %" PRId64 " points, first at step %" PRId64
                  "\n",
                  curve->name, curve->not_finite, curve->points, curve->not_finite_step);
    return curve->not_finite > 0;
}

void cse_judged_curves_print(const char *run, const cse_judged_curves *events)
{
    bool not_finite = false;
    for (int i = 0; i < events->count; i++) {
        not_finite = print_not_finite(&events->curves[i]) || not_finite;
        print_jump(&events->curves[i]);
    }
    if (!not_finite)
        cse_print("all points of these curves are finite, to step %" PRId64 "\n",
                  events->curves[0].last_step);
    else
        cse_print("csengine numerics %s: which tensor was, where the run has statistics\n", run);
}

static json_t *jump_json(const cse_curve_jump *jump)
{
    return jump->from == 0
               ? json_null()
               : json_pack("{s:I, s:I, s:o, s:o, s:o}", "from", (json_int_t)jump->from, "step",
                           (json_int_t)jump->step, "value", cse_json_finite(jump->value), "median",
                           cse_json_finite(jump->median), "deviations",
                           cse_json_finite(jump->deviations));
}

void cse_judged_curves_print_json(const char *run, const cse_judged_curves *events)
{
    json_t *curves = json_array();
    for (int i = 0; i < events->count; i++) {
        const cse_curve_events *curve = &events->curves[i];
        json_array_append_new(
            curves,
            json_pack("{s:s, s:I, s:I, s:I, s:o, s:o}", "name", curve->name, "points",
                      (json_int_t)curve->points, "last_step", (json_int_t)curve->last_step,
                      "not_finite", (json_int_t)curve->not_finite, "first_not_finite",
                      curve->not_finite > 0 ? json_integer((json_int_t)curve->not_finite_step)
                                            : json_null(),
                      "jump", jump_json(&curve->jump)));
    }
    json_t *whole = json_pack("{s:s, s:o}", "run", run, "curves", curves);
    cse_json_print(whole);
    json_decref(whole);
}
