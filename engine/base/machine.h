/* What this machine has, as far as the kernel lets this process use it. */
#ifndef CSE_BASE_MACHINE_H
#define CSE_BASE_MACHINE_H

#include <stdint.h>

typedef struct cse_machine {
    int cores;                 /* that this process may run on */
    long all_cores;            /* of the machine */
    double quota_cores;        /* that the cgroup's CPU quota allows; 0: no limit */
    double free_cores;         /* of `cores`, less the load average of a minute; at least 0 */
    int64_t memory_bytes;      /* its own, or what its cgroups may have of that; 0: not known */
    int64_t memory_free_bytes; /* of them, that programs can have without swapping */
} cse_machine;

cse_machine cse_machine_look(void);

#endif
