/* `csengine blame --curves`: the steps at which the curves of a run did something. */
#ifndef CSE_CLI_RUNS_CURVE_EVENTS_SHOWN_H
#define CSE_CLI_RUNS_CURVE_EVENTS_SHOWN_H

#include "run/travel/curve_events.h"

void cse_judged_curves_print(const char *run, const cse_judged_curves *events);
void cse_judged_curves_print_json(const char *run, const cse_judged_curves *events);

#endif
