/* Limits of this process (setrlimit(2)): what it needs of each is asked for before it begins, so
 * that one that is too small ends it with a sentence and not in the middle.
 *
 * A need is compared with what the process may have: where the soft limit is below it and the hard
 * one is not, descriptors, stack and seconds are raised; the others are left, since somebody has
 * set them to bound what the process takes. Limits that are not in the table bound nothing that is
 * used here: locked memory, message queues, pending signals, priorities, core files. */
#ifndef CSE_BASE_RESOURCE_LIMITS_H
#define CSE_BASE_RESOURCE_LIMITS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include "csengine/status.h"

/* X(name, resource, for people, unit, whether a need raises it, the option of ulimit, the pieces in
 *   which that counts (0: shells differ in it), the directive of systemd) */
#define CSE_RESOURCE_LIMIT_TABLE(X)                                                             \
    X(FILES, RLIMIT_NOFILE, "open files", "", 1, "n", 1, "LimitNOFILE")                         \
    X(FILE_SIZE, RLIMIT_FSIZE, "the size of a file", " bytes", 0, "f", 0, "LimitFSIZE")         \
    X(STACK, RLIMIT_STACK, "the stack", " bytes", 1, "s", 1024, "LimitSTACK")                   \
    X(ADDRESS_SPACE, RLIMIT_AS, "a process's address space", " bytes", 0, "v", 1024, "LimitAS") \
    X(DATA, RLIMIT_DATA, "a process's own memory", " bytes", 0, "d", 1024, "LimitDATA")         \
    X(CPU, RLIMIT_CPU, "a process's processor time", " s", 1, "t", 1, "LimitCPU")

typedef enum cse_resource_limit {
#define CSE_RESOURCE_LIMIT_ENUM(name, resource, text, unit, raised, option, pieces, directive) \
    CSE_RESOURCE_##name,
    CSE_RESOURCE_LIMIT_TABLE(CSE_RESOURCE_LIMIT_ENUM)
#undef CSE_RESOURCE_LIMIT_ENUM
        CSE_RESOURCE_LIMITS
} cse_resource_limit;

typedef struct cse_resource_need {
    cse_resource_limit limit;
    int64_t amount;
    const char *purpose; /* "for 12 processes" */
} cse_resource_need;

/* CSE_SYSTEM_LIMIT for the first need that is not met. */
cse_status cse_resource_limits_check(const cse_resource_need *needs, int count);

/* What each process that computes needs, whatever its job. */
cse_status cse_resource_limits_check_base(void);

/* At the start of a program, before it makes threads: raises what is too small for them. Writing
 * beyond the size of a file fails from then on as on a full disk, and does not end the process. */
void cse_resource_limits_begin(void);

/* Whether so many threads can be had beside those that there are: of the user's processes
 * (RLIMIT_NPROC), of the cgroup (pids.max) and of the machine. They are made, and end at once.
 * CSE_SYSTEM_LIMIT where not. */
cse_status cse_resource_limits_try_threads(int count, const char *purpose);

/* Adds what a limit is, if one is set, at the end of `text`. */
void cse_resource_limit_add(cse_resource_limit which, const char *before, char *text, size_t size);
/* "; the limit of open files is 16 (ulimit -n, LimitNOFILE=)" where this error comes from a limit,
 * else ""; `text` is returned. */
const char *cse_resource_limits_explain(int error, char *text, size_t size);

/* The limits that are set, in one line; false where `csengine start` would not begin within them,
 * or with few open files. */
bool cse_resource_limits_describe(char *text, size_t size);

#endif
