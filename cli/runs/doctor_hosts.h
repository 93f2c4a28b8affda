/* `csengine doctor --hosts`: whether several hosts can run one job together, and how fast. */
#ifndef CSE_CLI_RUNS_DOCTOR_HOSTS_H
#define CSE_CLI_RUNS_DOCTOR_HOSTS_H

#include "cli/arguments/command.h"

/* Returns the exit code: 0; 1: something keeps these hosts from one run; 69: a host could not be
 * started, or two could not be connected. */
int cse_doctor_hosts(const cse_command_line *line);

#endif
