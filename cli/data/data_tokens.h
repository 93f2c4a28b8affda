/* `csengine data tokens`: which tokens a text becomes, and where they stand in it. */
#ifndef CSE_CLI_DATA_DATA_TOKENS_H
#define CSE_CLI_DATA_DATA_TOKENS_H

#include "cli/arguments/command_line.h"

/* Returns the exit code. */
int cse_data_tokens(const cse_command_line *line);

#endif
