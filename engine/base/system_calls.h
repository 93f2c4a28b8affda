/* A filter (seccomp) of system calls: those of a list are allowed (system_call_table.h), some of
 * them with certain arguments alone; every other one fails with EPERM, as it does for a process
 * without the privilege, or with ENOSYS if it is newer than the list. */
#ifndef CSE_BASE_SYSTEM_CALLS_H
#define CSE_BASE_SYSTEM_CALLS_H

#include "csengine/status.h"

/* Whether the kernel has filters, and the filter is written for this processor. */
bool cse_system_calls_can_filter(void);

typedef struct cse_system_call_use {
    bool starts;   /* programs (a compiler, workers) and processes */
    bool connects; /* to other hosts; without it, sockets are those of this machine's processes */
    bool marks;    /* sets modes and times of files, where only the job's own can be written */
} cse_system_call_use;

/* For all threads of this process and all that it starts; needs PR_SET_NO_NEW_PRIVS. A process that
 * neither starts nor connects cannot offer sockets, either. CSE_OK, too, where nothing can be
 * filtered. */
cse_status cse_system_calls_filter(cse_system_call_use use);

#endif
