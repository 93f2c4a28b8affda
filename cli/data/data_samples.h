/* `csengine data samples`. */
#ifndef CSE_CLI_DATA_DATA_SAMPLES_H
#define CSE_CLI_DATA_DATA_SAMPLES_H

#include "cli/arguments/command_line.h"

/* Returns the exit code. */
int cse_data_samples(const cse_command_line *line);

#endif
