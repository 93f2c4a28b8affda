/* Commands to a run without a server: its run store holds the endpoint of its coordinator. */
#ifndef CSE_CLI_RUN_COMMAND_H
#define CSE_CLI_RUN_COMMAND_H

#include <jansson.h>

#include "csengine/status.h"

/* Whether `job` is a directory with a run store, and not an id. */
bool cse_names_run(const char *job);

/* Sends the command with the members of `body` that it has (message, grace_s, save, num_csx) to the
 * run in `model_dir`; the answer is an Action object of the API, owned by the caller.
 * CSE_UNAVAILABLE when the run has ended or cannot be reached. */
cse_status cse_run_command(const char *model_dir, const char *command, const json_t *body,
                           json_t **action);

#endif
