/* A program whose standard output is read, and which reads nothing. */
#ifndef CSE_BASE_PIPED_PROGRAM_H
#define CSE_BASE_PIPED_PROGRAM_H

#include <sys/types.h>

#include "csengine/status.h"

/* Starts words[0] (a path, or a name that is searched in PATH) with these arguments, ended by NULL;
 * what it writes to standard error is the content of the file `errors`, or with NULL goes to the
 * same pipe. `output` is to be closed, `child` to be waited for.
 * CSE_TEMPORARY, CSE_UNAVAILABLE. */
cse_status cse_piped_program_start(char *const words[], const char *errors, pid_t *child,
                                   int *output);

#endif
