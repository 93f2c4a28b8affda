/* Whether this host leaves an execution what it needs, asked before its first process is started:
 * memory of the machine and of the cgroups, descriptors, threads, sizes of files, and what one
 * process may have. */
#ifndef CSE_WORKERS_CONTROL_EXECUTION_LIMITS_H
#define CSE_WORKERS_CONTROL_EXECUTION_LIMITS_H

#include "engine/base/memory_limit.h"
#include "workers/control/execution_needs.h"

/* CSE_SYSTEM_LIMIT with what is needed, what there is, and what to change. */
cse_status cse_execution_limits_check(const cse_execution *execution,
                                      const cse_execution_needs *needs);

/* The part of it that is about memory. What a process takes beside the plan counts with the least
 * that was seen, so that nothing is refused that would have run. */
cse_status cse_execution_fits(const cse_execution_needs *needs, const cse_memory_limit *limit);

/* "it needs at least 812.0 MiB (...), and FILE allows 512.0 MiB"; `text` is returned. */
const char *cse_execution_memory_text(const cse_execution_needs *needs,
                                      const cse_memory_limit *limit, char *text, size_t size);

#endif
