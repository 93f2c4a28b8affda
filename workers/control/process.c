/* Choice of the workers' executable and cores. */
#include "workers/control/process.h"

#include <hwloc.h>
#include <hwloc/glibc-sched.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

cse_status cse_worker_executable(const char *wanted, char *path, size_t size)
{
    const char *from_environment = getenv("CSENGINE_EXECUTABLE");
    char own[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    own[length > 0 ? length : 0] = '\0';
    const char *slash = strrchr(own, '/');
    const char *origin, *choice;
    if (wanted != NULL && wanted[0] != '\0') {
        choice = wanted;
        origin = "worker_executable";
    } else if (from_environment != NULL && from_environment[0] != '\0') {
        choice = from_environment;
        origin = "CSENGINE_EXECUTABLE";
    } else if (slash != NULL && strcmp(slash, "/csengine") == 0) {
        choice = own;
        origin = "this program";
    } else {
        choice = CSE_BINDIR "/csengine";
        origin = "the installed program";
    }
    if (access(choice, X_OK) != 0)
        return cse_fail(CSE_UNAVAILABLE,
                        "worker executable %s (%s): %m; install csengine, or give its path in "
                        "CSENGINE_EXECUTABLE",
                        choice, origin);
    if ((size_t)snprintf(path, size, "%s", choice) >= size)
        return cse_fail(CSE_UNAVAILABLE, "worker executable %s (%s): the path is too long", choice,
                        origin);
    return CSE_OK;
}

/* Logical processors in the order in which replicas get them. */
typedef struct processors {
    int order[CPU_SETSIZE];
    int count;
} processors;

/* Appends thread `thread` of every core of `usable`. */
static void add_threads(hwloc_topology_t topology, hwloc_const_bitmap_t usable, int thread,
                        processors *taken)
{
    for (hwloc_obj_t core = NULL;
         (core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, core)) != NULL;) {
        int seen = 0;
        for (int unit = hwloc_bitmap_first(core->cpuset); unit >= 0;
             unit = hwloc_bitmap_next(core->cpuset, unit)) {
            if (!hwloc_bitmap_isset(usable, (unsigned)unit))
                continue;
            if (seen++ == thread && taken->count < CPU_SETSIZE)
                taken->order[taken->count++] = unit;
        }
    }
}

static void take_usable(processors *taken)
{
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) != 0)
        return;
    hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(topology, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
    cpu_set_t allowed;
    if (hwloc_topology_load(topology) == 0 && sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
        hwloc_bitmap_t usable = hwloc_bitmap_alloc();
        hwloc_cpuset_from_glibc_sched_affinity(topology, usable, &allowed, sizeof allowed);
        int before;
        int thread = 0;
        do {
            before = taken->count;
            add_threads(topology, usable, thread++, taken);
        } while (taken->count > before);
        hwloc_bitmap_free(usable);
    }
    hwloc_topology_destroy(topology);
}

void cse_choose_cores(int replica_count, int cores[])
{
    processors usable = { .count = 0 };
    take_usable(&usable);
    bool bind = replica_count <= usable.count && usable.count <= 2 * replica_count;
    for (int r = 0; r < replica_count; r++)
        cores[r] = bind ? usable.order[r] : -1;
}
