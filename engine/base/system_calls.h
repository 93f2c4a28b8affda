/* A filter (seccomp) of the system calls that no process of a job needs; each of them fails with
 * EPERM, as it does for a process without the privilege. A list of what is refused and not of what
 * is allowed: the compiler, HDF5, ZeroMQ and sanitizers need most of the rest, and change. */
#ifndef CSE_BASE_SYSTEM_CALLS_H
#define CSE_BASE_SYSTEM_CALLS_H

#include "csengine/status.h"

/* Whether the kernel has filters, and the filter is written for this processor. */
bool cse_system_calls_can_filter(void);

/* For all threads of this process and all that it starts; needs PR_SET_NO_NEW_PRIVS. `may_start`:
 * it starts programs (a compiler, workers); without it, neither programs nor processes can be
 * started, nor sockets offered. CSE_OK, too, where nothing can be filtered. */
cse_status cse_system_calls_filter(bool may_start);

#endif
