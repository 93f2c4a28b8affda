/* A line for each unit; JSON for programs. */
#include "cli/runs/dead_units_shown.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/terminal/json_values.h"
#include "cli/terminal/printing.h"
#include "run/travel/replay_verdict.h"

static void print_unit(const char *run, const cse_dead_unit *unit)
{
    cse_print("%s, unit %" PRId64 ": ", unit->layer, unit->unit);
    if (unit->first == 1)
        printf("dead from the first step on\n");
    else if (unit->first - unit->alive > 1)
        printf("dead at step %" PRId64 " and later; before, from step %" PRId64
               " on, it was not looked at\n",
               unit->first, unit->alive + 1);
    else
        cse_print("dead from step %" PRId64 " on, by the update of step %" PRId64
                  ": csengine blame %s --step %" PRId64 "\n",
                  unit->first, unit->alive, run, unit->alive);
}

void cse_dead_units_print(const char *run, const cse_dead_units *found)
{
    cse_print(
        "%s, step %" PRId64 ": %d of %" PRId64
        " units with ReLU are zero for all samples of the batch; %d steps were looked at, %s\n",
        run, found->step, found->count, found->units, found->looks,
        found->proved ? "these are the run's bits"
                      : "of some the run has no digests to compare with");
    for (int i = 0; i < found->count; i++)
        print_unit(run, &found->items[i]);
}

void cse_dead_units_print_json(const char *run, const cse_dead_units *found)
{
    json_t *units = json_array();
    for (int i = 0; i < found->count; i++) {
        const cse_dead_unit *unit = &found->items[i];
        json_array_append_new(units, json_pack("{s:s, s:I, s:I, s:I, s:b}", "layer", unit->layer,
                                               "unit", (json_int_t)unit->unit, "first_dead",
                                               (json_int_t)unit->first, "last_alive",
                                               (json_int_t)unit->alive, "located",
                                               unit->first - unit->alive == 1));
    }
    json_t *whole = json_pack(
        "{s:s, s:I, s:s, s:I, s:i, s:o}", "run", run, "step", (json_int_t)found->step, "bits",
        cse_replay_verdict_name(found->proved ? CSE_REPLAY_SAME : CSE_REPLAY_UNKNOWN), "units",
        (json_int_t)found->units, "looks", found->looks, "dead", units);
    cse_json_print(whole);
    json_decref(whole);
}
