/* `csengine eval --tasks`: tasks of a language model instead of the validation data. */
#ifndef CSE_CLI_MODELS_EVALUATE_TASKS_H
#define CSE_CLI_MODELS_EVALUATE_TASKS_H

#include "cli/arguments/command.h"

/* The whole command; returns the process's exit code. */
int cse_evaluate_tasks(const cse_command_line *line);

#endif
