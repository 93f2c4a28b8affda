/* The processors of a machine as a value: where each stands among cores, caches, memories and
 * sockets. It is read once, from the system or from a description of a machine that is elsewhere;
 * what follows from it (placement.h, run/measure/machine_model.h) asks the system nothing. */
#ifndef CSE_WORKERS_PLACEMENT_PROCESSORS_H
#define CSE_WORKERS_PLACEMENT_PROCESSORS_H

#include <stddef.h>

#include "csengine/status.h"

/* A logical processor: one hardware thread of a core. */
typedef struct cse_processor {
    int number; /* the system's */
    int thread; /* among those of its core that are listed: 0 is the first */
    int core;   /* this and the next three count from 0 in the machine's order */
    int cache;  /* the cores that share the last cache; their memory's, where there is none */
    int memory; /* the nearest memory: a NUMA node */
    int socket;
    int node; /* the system's number of that memory */
} cse_processor;

/* In the machine's order, in which neighbours share as much as can be: threads of a core, cores of
 * a cache, caches of a memory, memories of a socket. */
typedef struct cse_processors {
    cse_processor *items;
    int count;
    int cores, caches, memories, sockets;
} cse_processors;

/* Those that this process may use: its cgroup's cpuset and its affinity say so. CSE_UNAVAILABLE
 * where the system does not tell. */
cse_status cse_processors_of_host(cse_processors *processors);

/* Of another machine: the name of a file that `lstopo FILE.xml` wrote, which ends with .xml, or a
 * description of levels as hwloc has it, "pack:2 numa:4 l3:4 core:4 pu:1". CSE_DATA says what is
 * accepted. */
cse_status cse_processors_read(const char *text, cse_processors *processors);

/* Levels, as cse_processors_read takes them: "pack:1 numa:1 l3:1 core:2 pu:1". Of a machine whose
 * parts are not alike: its cores alone. */
void cse_processors_describe(const cse_processors *processors, char *text, size_t size);

void cse_processors_clear(cse_processors *processors);

#endif
