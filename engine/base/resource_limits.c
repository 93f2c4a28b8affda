/* The table of limits, and what a run needs of each whatever it computes. */
#include "engine/base/resource_limits.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BASE_FILES = 64,              /* of a run with a process or two; measured: 48 */
    BASE_FILE_BYTES = 1 << 20,    /* the run store of a run that has begun; measured: 300 KiB */
    BASE_STACK_BYTES = 1 << 20,   /* nested settings, and cc1 for a small step; measured: 256 KiB */
    BASE_SPACE_BYTES = 192 << 20, /* measured: 150 MiB */
    BASE_DATA_BYTES = 64 << 20,   /* the least that a step needs is about half of it */
    USUAL_STACK_BYTES = 8 << 20,  /* raised to, where that is allowed */
    BASE_THREADS = 24,            /* of a coordinator, a dashboard, a compiler and a worker */
    MOST_FILES = 1 << 16,         /* likewise */
    LEAST_SECONDS = 10,           /* to end with a checkpoint; the soft limit says so before */
    PROBE_STACK_BYTES = 64 << 10, /* of a thread that is only tried */
};

static const struct {
    int resource;
    const char *text, *unit, *option, *directive;
    int64_t pieces;
    bool raised;
} rows[] = {
#define ROW(name, resource, text, unit, raised, option, pieces, directive) \
    { resource, text, unit, option, directive, pieces, raised },
    CSE_RESOURCE_LIMIT_TABLE(ROW)
#undef ROW
};

static int64_t amount_of(rlim_t limit)
{
    return limit == RLIM_INFINITY || limit > INT64_MAX ? INT64_MAX : (int64_t)limit;
}

/* Raises the soft limit to `wanted`, or to the hard one below it; what it is afterwards. */
static int64_t raise_limit(int resource, int64_t wanted)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0)
        return INT64_MAX;
    const int64_t hard = amount_of(limit.rlim_max), soft = amount_of(limit.rlim_cur);
    if (soft >= wanted)
        return soft;
    limit.rlim_cur = (rlim_t)(wanted < hard ? wanted : hard);
    return setrlimit(resource, &limit) == 0 ? amount_of(limit.rlim_cur) : soft;
}

static int64_t may_have(const cse_resource_need *need)
{
    struct rlimit limit;
    const int resource = rows[need->limit].resource;
    if (rows[need->limit].raised)
        return raise_limit(resource, need->amount);
    return getrlimit(resource, &limit) == 0 ? amount_of(limit.rlim_cur) : INT64_MAX;
}

static cse_status refuse(const cse_resource_need *need, int64_t limit)
{
    const cse_resource_limit which = need->limit;
    char hint[160], wanted[32] = "unlimited";
    const int64_t pieces = rows[which].pieces;
    if (pieces > 0)
        snprintf(wanted, sizeof wanted, "%lld", (long long)((need->amount + pieces - 1) / pieces));
    snprintf(hint, sizeof hint, "set ulimit -%s %s, in a unit of systemd %s=%lld",
             rows[which].option, wanted, rows[which].directive, (long long)need->amount);
    return cse_fail_at(&(cse_error){ .status = CSE_SYSTEM_LIMIT, .hint = hint },
                       "the limit of %s is %lld%s, and %lld are needed %s", rows[which].text,
                       (long long)limit, rows[which].unit, (long long)need->amount, need->purpose);
}

cse_status cse_resource_limits_check(const cse_resource_need *needs, int count)
{
    for (int n = 0; n < count; n++) {
        const int64_t limit = may_have(&needs[n]);
        if (limit < needs[n].amount)
            return refuse(&needs[n], limit);
    }
    return CSE_OK;
}

/* The soft limit of processor time is told by a signal, the hard one ends the process: where they
 * are one, the soft one is lowered, so that there is time to save. */
static void keep_seconds(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_CPU, &limit) != 0 || limit.rlim_max == RLIM_INFINITY ||
        limit.rlim_max < LEAST_SECONDS || limit.rlim_cur < limit.rlim_max)
        return;
    limit.rlim_cur = limit.rlim_max - LEAST_SECONDS / 2;
    setrlimit(RLIMIT_CPU, &limit);
}

void cse_resource_limits_begin(void)
{
    pthread_attr_t attributes;
    size_t bytes = 0;
    struct sigaction action;
    /* A handler of the program's own stays. */
    if (sigaction(SIGXFSZ, NULL, &action) == 0 && (action.sa_flags & SA_SIGINFO) == 0 &&
        action.sa_handler == SIG_DFL)
        signal(SIGXFSZ, SIG_IGN);
    raise_limit(RLIMIT_NOFILE, MOST_FILES);
    raise_limit(RLIMIT_STACK, USUAL_STACK_BYTES);
    /* Threads have the stack of the limit that the program began with. */
    if (pthread_getattr_default_np(&attributes) != 0)
        return;
    if (pthread_attr_getstacksize(&attributes, &bytes) == 0 && bytes < BASE_STACK_BYTES * 2 &&
        pthread_attr_setstacksize(&attributes, USUAL_STACK_BYTES) == 0)
        pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
}

/* ---- threads ---- */

static void *wait_for_all(void *barrier)
{
    pthread_mutex_lock(barrier); /* held by the thread that tries until all are there */
    pthread_mutex_unlock(barrier);
    return NULL;
}

cse_status cse_resource_limits_try_threads(int count, const char *purpose)
{
    pthread_mutex_t all = PTHREAD_MUTEX_INITIALIZER;
    pthread_t *threads = calloc((size_t)count, sizeof *threads);
    pthread_attr_t attributes;
    int made = 0, error = 0;
    if (threads == NULL)
        return cse_fail(CSE_TEMPORARY, "no memory for the numbers of %d threads", count);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, PROBE_STACK_BYTES);
    pthread_mutex_lock(&all);
    while (made < count &&
           (error = pthread_create(&threads[made], &attributes, wait_for_all, &all)) == 0)
        made++;
    pthread_mutex_unlock(&all);
    for (int t = 0; t < made; t++)
        pthread_join(threads[t], NULL);
    pthread_attr_destroy(&attributes);
    free(threads);
    if (made == count)
        return CSE_OK;
    return cse_fail_at(
        &(cse_error){ .status = CSE_SYSTEM_LIMIT,
                      .hint = "raise the user's processes (ulimit -u, LimitNPROC=), the cgroup's "
                              "(pids.max, TasksMax=, --pids-limit of a container), or end others" },
        "%d more processes and threads can be made, and %d are needed %s: %s", made, count, purpose,
        strerror(error));
}

cse_status cse_resource_limits_check_base(void)
{
    static const cse_resource_need needs[] = {
        { CSE_RESOURCE_FILES, BASE_FILES, "for files and sockets of any run" },
        { CSE_RESOURCE_FILE_SIZE, BASE_FILE_BYTES, "for a run's files" },
        { CSE_RESOURCE_STACK, BASE_STACK_BYTES, "for settings and the compiler" },
        { CSE_RESOURCE_ADDRESS_SPACE, BASE_SPACE_BYTES, "for the libraries and settings" },
        { CSE_RESOURCE_DATA, BASE_DATA_BYTES, "for settings and a step" },
        { CSE_RESOURCE_CPU, LEAST_SECONDS, "to start and to save" },
    };
    CSE_TRY(cse_resource_limits_check(needs, sizeof needs / sizeof needs[0]));
    keep_seconds();
    return cse_resource_limits_try_threads(BASE_THREADS, "for processes of any run");
}

/* ---- explanations ---- */

bool cse_resource_limits_describe(char *text, size_t size)
{
    struct rlimit files;
    text[0] = '\0';
    for (int r = 0; r < CSE_RESOURCE_LIMITS; r++)
        cse_resource_limit_add((cse_resource_limit)r, text[0] != '\0' ? ", " : "", text, size);
    if (text[0] == '\0')
        snprintf(text, size, "none is set");
    return cse_resource_limits_check_base() == CSE_OK &&
           (getrlimit(RLIMIT_NOFILE, &files) != 0 || amount_of(files.rlim_cur) >= 1024);
}
