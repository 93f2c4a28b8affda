/* `csengine data index`. */
#ifndef CSE_CLI_DATA_DATA_INDEX_H
#define CSE_CLI_DATA_DATA_INDEX_H

#include "cli/arguments/command_line.h"

/* Returns the exit code. */
int cse_data_index(const cse_command_line *line);

#endif
