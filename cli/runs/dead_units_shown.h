/* What `csengine blame --dead_units` says. */
#ifndef CSE_CLI_RUNS_DEAD_UNITS_SHOWN_H
#define CSE_CLI_RUNS_DEAD_UNITS_SHOWN_H

#include "run/travel/dead_units.h"

void cse_dead_units_print(const char *run, const cse_dead_units *found);
void cse_dead_units_print_json(const char *run, const cse_dead_units *found);

#endif
