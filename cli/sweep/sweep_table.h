/* The trials of a sweep as a table: the best first, with the parameters that differ. */
#ifndef CSE_CLI_SWEEP_SWEEP_TABLE_H
#define CSE_CLI_SWEEP_SWEEP_TABLE_H

#include <jansson.h>
#include <stdio.h>

#include "run/sweep/sweep_state.h"

void cse_sweep_table_show(FILE *out, const cse_sweep_state *state);
/* trial, steps, failed, the metric, message, and each parameter; NULL: to stdout. CSE_IO. */
cse_status cse_sweep_table_write_csv(const cse_sweep_state *state, const char *path);
/* {trial, rung, steps, value, failed, message, parameters: {PATH: text}} */
json_t *cse_sweep_trial_json(const cse_sweep_state *state, int trial);
/* {sweep, metric, goal, best: a trial or null, trials: [of cse_sweep_trial_json, best first]} */
json_t *cse_sweep_table_json(const cse_sweep_state *state);

#endif
