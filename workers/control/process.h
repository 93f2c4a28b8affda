/* Which executable workers run and on which cores. */
#ifndef CSE_WORKERS_CONTROL_PROCESS_H
#define CSE_WORKERS_CONTROL_PROCESS_H

#include <stddef.h>

#include "csengine/status.h"

/* Path of the program that workers run, in `path` (PATH_MAX bytes): `wanted` when given, else
 * $CSENGINE_EXECUTABLE, else this program when it is csengine, else the installed one.
 * CSE_UNAVAILABLE when the first of these that applies is no executable file. */
cse_status cse_worker_executable(const char *wanted, char *path, size_t size);

/* The logical processor for each of `replica_count` replicas, in cores[]: one per physical
 * core, then on the cores' second hardware threads. All -1 (no binding) when the processors this
 * process may use are fewer than the replicas, or more than twice as many: then the scheduler keeps
 * them apart, and a fixed choice could collide with another job's. */
void cse_choose_cores(int replica_count, int cores[]);

#endif
