/* Which executable workers run. */
#ifndef CSE_WORKERS_CONTROL_PROCESS_H
#define CSE_WORKERS_CONTROL_PROCESS_H

#include <stddef.h>

#include "csengine/status.h"

/* Path of the program that workers run, in `path` (PATH_MAX bytes): `wanted` when given, else
 * $CSENGINE_EXECUTABLE, else this program when it is csengine, else the installed one.
 * CSE_UNAVAILABLE when the first of these that applies is no executable file. */
cse_status cse_worker_executable(const char *wanted, char *path, size_t size);

#endif
