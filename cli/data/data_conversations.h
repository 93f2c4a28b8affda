/* `csengine data conversations`: what a template makes of conversations, and which tokens of them
 * the loss counts. */
#ifndef CSE_CLI_DATA_DATA_CONVERSATIONS_H
#define CSE_CLI_DATA_DATA_CONVERSATIONS_H

#include "cli/arguments/command_line.h"

/* Returns the exit code. */
int cse_data_conversations(const cse_command_line *line);

#endif
