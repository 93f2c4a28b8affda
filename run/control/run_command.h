/* Commands to a run without a server: its run store holds the endpoint of its coordinator. */
#ifndef CSE_RUN_CONTROL_RUN_COMMAND_H
#define CSE_RUN_CONTROL_RUN_COMMAND_H

#include <jansson.h>

#include "csengine/status.h"
#include "engine/base/text.h"

/* Whether `job` is a directory with a run store, and not an id; or, with a "/" in its name, that of
 * a batch job that has not begun. */
bool cse_names_run(const char *job);

/* Sends the command with the members of `body` that it has (message, grace_s, save, num_csx) to the
 * run in `model_dir`; the answer is an Action object of the API, owned by the caller. A run that is
 * a batch job of Slurm is reached on its node (workers/batch/batch_control.h); one that waits in
 * Slurm's queue can be cancelled and killed. CSE_UNAVAILABLE when the run has ended or cannot be
 * reached. */
cse_status cse_run_command(const char *model_dir, const char *command, const json_t *body,
                           json_t **action);

/* Appends the control endpoint of the run in `model_dir`, whose coordinator is on this host.
 * CSE_UNAVAILABLE when it has ended or is on another host, CSE_TEMPORARY when it does not listen
 * yet. */
cse_status cse_run_endpoint_here(const char *model_dir, cse_text *endpoint);

#endif
