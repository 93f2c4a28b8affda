/* A run in a child process that is waited for, and what ends it. */
#ifndef CSE_CLI_SWEEP_SWEEP_CHILD_H
#define CSE_CLI_SWEEP_SWEEP_CHILD_H

#include "engine/base/arena.h"

#include "csengine/status.h"

/* Whether the command was asked to end; from now on SIGINT, SIGTERM and SIGHUP ask for it, and end
 * the child as well. */
void cse_sweep_take_signals(void);
bool cse_sweep_is_interrupted(void);

/* Runs the words, ended by NULL, with its errors in a file; returns its exit code, 128 + N where
 * signal N ended it. `status`: whether it could be started. */
int cse_sweep_child_run(const char *const *words, const char *errors, cse_status *status);
/* The error that it reported there, or else its last line. */
const char *cse_sweep_child_message(const char *errors, cse_arena *arena);

#endif
