/* `csengine data split`. */
#ifndef CSE_CLI_DATA_DATA_SPLIT_H
#define CSE_CLI_DATA_DATA_SPLIT_H

#include "cli/arguments/command_line.h"

/* Returns the exit code. */
int cse_data_split(const cse_command_line *line);

#endif
