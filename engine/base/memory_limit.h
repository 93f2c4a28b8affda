/* How much memory this process's cgroup and those above it may have, and how often the kernel has
 * killed a process there because that was used up.
 *
 * Both versions of cgroups: memory.max, memory.high (beyond which the kernel slows processes down
 * until they stand still) and memory.swap.max of version 2; memory.limit_in_bytes and
 * memory.memsw.limit_in_bytes of version 1. Where a hierarchy is mounted, and which part of it can
 * be seen here, stands in mountinfo. */
#ifndef CSE_BASE_MEMORY_LIMIT_H
#define CSE_BASE_MEMORY_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/* The files of /proc that are read; tests have others. */
typedef struct cse_memory_sources {
    const char *cgroup;    /* /proc/self/cgroup */
    const char *mountinfo; /* /proc/self/mountinfo */
    const char *meminfo;   /* /proc/meminfo */
    const char *vmstat;    /* /proc/vmstat */
} cse_memory_sources;

enum { CSE_MEMORY_FILE_BYTES = 1024 };

/* The one that leaves least; of the machine where no cgroup has a limit below its memory. */
typedef struct cse_memory_limit {
    int64_t bytes;                    /* 0: not known */
    int64_t swap_bytes;               /* that may be used beside it */
    int64_t free_bytes;               /* of `bytes`, without what the kernel can drop */
    char file[CSE_MEMORY_FILE_BYTES]; /* where it is set; "" for the machine's memory */
} cse_memory_limit;

cse_memory_limit cse_memory_limit_find(const cse_memory_sources *sources);
cse_memory_limit cse_memory_limit_look(void);

/* How many processes of this cgroup, or of the machine where there is none, were killed for lack of
 * memory since it was made; -1: not known. */
int64_t cse_memory_kills_count(const cse_memory_sources *sources);
int64_t cse_memory_kills_look(void);

/* Has the kernel choose this process before others of its cgroup. */
void cse_memory_offer_self(void);

#endif
