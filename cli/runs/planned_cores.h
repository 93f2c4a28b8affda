/* `csengine plan --machine` and `--placement`: what a step takes on a machine with many cores, and
 * which processor each process has. */
#ifndef CSE_CLI_RUNS_PLANNED_CORES_H
#define CSE_CLI_RUNS_PLANNED_CORES_H

#include "cli/arguments/command_line.h"
#include "run/job/job_settings.h"

/* With the options machine, measure_machine, placement, replicas, steps and json of the command. */
cse_status cse_planned_cores_run(const cse_command_line *line, const cse_job_settings *job);

#endif
