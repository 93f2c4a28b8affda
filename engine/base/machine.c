/* Limits of a container stand in its cgroup. */
#include "engine/base/machine.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/base/memory_limit.h"

static double quota_cores(void)
{
    FILE *file = fopen("/sys/fs/cgroup/cpu.max", "r");
    double quota = 0, period = 0;
    const int read = file != NULL ? fscanf(file, "%lf %lf", &quota, &period) : 0;
    if (file != NULL)
        fclose(file);
    return read == 2 && period > 0 ? quota / period : 0;
}

cse_machine cse_machine_look(void)
{
    cpu_set_t allowed;
    double load = 0;
    cse_machine machine = { .all_cores = sysconf(_SC_NPROCESSORS_ONLN),
                            .quota_cores = quota_cores() };
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        machine.cores = CPU_COUNT(&allowed);
    if (getloadavg(&load, 1) == 1 && load < machine.cores)
        machine.free_cores = machine.cores - load;
    const cse_memory_limit memory = cse_memory_limit_look();
    machine.memory_bytes = memory.bytes;
    machine.memory_free_bytes = memory.free_bytes;
    return machine;
}
