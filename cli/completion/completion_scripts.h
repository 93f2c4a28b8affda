/* The scripts by which shells complete the words of `csengine`: each asks `csengine complete`. */
#ifndef CSE_CLI_COMPLETION_COMPLETION_SCRIPTS_H
#define CSE_CLI_COMPLETION_COMPLETION_SCRIPTS_H

#include <stdio.h>

#include "csengine/status.h"

/* "bash", "zsh" or "fish"; CSE_USAGE for another name. */
cse_status cse_print_completion(const char *shell, FILE *out);

#endif
