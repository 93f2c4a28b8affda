/* `csengine data tokenize`: texts become the data of a language model. */
#ifndef CSE_CLI_DATA_DATA_TOKENIZE_H
#define CSE_CLI_DATA_DATA_TOKENIZE_H

#include "cli/arguments/command_line.h"

/* Returns the exit code. */
int cse_data_tokenize(const cse_command_line *line);

#endif
