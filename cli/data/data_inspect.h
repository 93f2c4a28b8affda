/* `csengine data inspect`. */
#ifndef CSE_CLI_DATA_DATA_INSPECT_H
#define CSE_CLI_DATA_DATA_INSPECT_H

#include "cli/arguments/command_line.h"

/* Returns the exit code. */
int cse_data_inspect(const cse_command_line *line);

#endif
