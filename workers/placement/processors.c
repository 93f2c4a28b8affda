/* The tree of hwloc, of which only the levels are loaded that a processor is placed by. */
#include "workers/placement/processors.h"

#include <hwloc.h>
#include <hwloc/glibc-sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"

enum { MOST_PROCESSORS = 1 << 16 };

static cse_status new_topology(hwloc_topology_t *topology)
{
    static const hwloc_obj_type_t levels[] = { HWLOC_OBJ_CORE, HWLOC_OBJ_L3CACHE,
                                               HWLOC_OBJ_PACKAGE };
    if (hwloc_topology_init(topology) != 0)
        return cse_fail(CSE_TEMPORARY, "processors: no memory for the machine's description");
    hwloc_topology_set_all_types_filter(*topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
        hwloc_topology_set_type_filter(*topology, levels[i], HWLOC_TYPE_FILTER_KEEP_ALL);
    /* A memory is attached to what has its processors: a group, where nothing else has them. */
    hwloc_topology_set_type_filter(*topology, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
    return CSE_OK;
}

/* Counts the places of one level in the order in which processors come by. */
typedef struct counter {
    int last; /* the object of the processor before; -1: none */
    int count;
} counter;

static int count_object(counter *c, int object)
{
    if (c->count == 0 || c->last != object)
        c->count++;
    c->last = object;
    return c->count - 1;
}

static int object_of(hwloc_topology_t topology, hwloc_obj_t unit, hwloc_obj_type_t type, int other)
{
    const hwloc_obj_t object = hwloc_get_ancestor_obj_by_type(topology, type, unit);
    return object != NULL ? (int)object->logical_index : other;
}

/* The memory of a processor, counted by hwloc; 0 where a machine has one for all. */
static int memory_of(hwloc_topology_t topology, hwloc_obj_t unit, int *node)
{
    *node = unit->nodeset != NULL ? hwloc_bitmap_first(unit->nodeset) : -1;
    const hwloc_obj_t memory =
        *node >= 0 ? hwloc_get_numanode_obj_by_os_index(topology, (unsigned)*node) : NULL;
    *node = *node >= 0 ? *node : 0;
    return memory != NULL ? (int)memory->logical_index : 0;
}

static void add_unit(hwloc_topology_t topology, hwloc_obj_t unit, counter counters[4],
                     cse_processors *found)
{
    cse_processor p = { .number = (int)unit->os_index };
    const int memory = memory_of(topology, unit, &p.node);
    const int cores = counters[0].count;
    p.core = count_object(&counters[0],
                          object_of(topology, unit, HWLOC_OBJ_CORE, (int)unit->logical_index));
    p.thread = counters[0].count > cores ? 0 : found->items[found->count - 1].thread + 1;
    p.memory = count_object(&counters[2], memory);
    /* A memory without a last cache is told from caches by its sign. */
    p.cache = count_object(&counters[1], object_of(topology, unit, HWLOC_OBJ_L3CACHE, -1 - memory));
    p.socket = count_object(&counters[3], object_of(topology, unit, HWLOC_OBJ_PACKAGE, 0));
    found->items[found->count++] = p;
}

/* `usable`: NULL for all. */
static cse_status list(hwloc_topology_t topology, hwloc_const_bitmap_t usable,
                       cse_processors *found)
{
    const int units = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
    counter counters[4] = { { -1, 0 } };
    *found = (cse_processors){ .count = 0 };
    if (units < 1 || units > MOST_PROCESSORS)
        return cse_fail(CSE_DATA, "processors: a machine of %d; accepted: 1 to %d", units,
                        MOST_PROCESSORS);
    found->items = cse_calloc((size_t)units, sizeof *found->items);
    for (hwloc_obj_t unit = NULL;
         (unit = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, unit)) != NULL;)
        if (usable == NULL || hwloc_bitmap_isset(usable, unit->os_index))
            add_unit(topology, unit, counters, found);
    found->cores = counters[0].count;
    found->caches = counters[1].count;
    found->memories = counters[2].count;
    found->sockets = counters[3].count;
    if (found->count > 0)
        return CSE_OK;
    cse_processors_clear(found);
    return cse_fail(CSE_UNAVAILABLE, "processors: this process may use none of the machine's");
}

static cse_status list_usable(hwloc_topology_t topology, cse_processors *found)
{
    cpu_set_t allowed;
    if (hwloc_topology_load(topology) != 0 || sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return cse_fail(CSE_UNAVAILABLE, "processors: the system does not tell of them: %m");
    hwloc_bitmap_t usable = hwloc_bitmap_alloc();
    hwloc_cpuset_from_glibc_sched_affinity(topology, usable, &allowed, sizeof allowed);
    cse_status status = list(topology, usable, found);
    hwloc_bitmap_free(usable);
    return status;
}

cse_status cse_processors_of_host(cse_processors *processors)
{
    hwloc_topology_t topology;
    *processors = (cse_processors){ .count = 0 };
    CSE_TRY(new_topology(&topology));
    cse_status status = list_usable(topology, processors);
    hwloc_topology_destroy(topology);
    return status;
}

static bool is_file(const char *text)
{
    const size_t length = strlen(text);
    return length > 4 && strcmp(text + length - 4, ".xml") == 0;
}

/* Whether the levels of a description, "core:4 pu:2", are of no more processors than are taken:
 * hwloc would make them all first. */
static bool has_size(const char *text)
{
    double count = 1;
    for (const char *at = strchr(text, ':'); at != NULL; at = strchr(at + 1, ':'))
        count *= strtod(at + 1, NULL);
    return count >= 1 && count <= MOST_PROCESSORS;
}

/* hwloc takes what it understands of a description and tells of errors on stderr, if at all. */
static cse_status load_described(hwloc_topology_t topology, const char *text)
{
    const int set = is_file(text)    ? hwloc_topology_set_xml(topology, text)
                    : has_size(text) ? hwloc_topology_set_synthetic(topology, text)
                                     : -1;
    if (set == 0 && hwloc_topology_load(topology) == 0)
        return CSE_OK;
    return cse_fail(CSE_DATA,
                    "topology '%s' describes no machine; accepted: a file that `lstopo FILE.xml` "
                    "wrote, or levels from the machine to its processors, as in "
                    "pack:2 numa:4 l3:4 core:4 pu:1, of at most %d",
                    text, MOST_PROCESSORS);
}

cse_status cse_processors_read(const char *text, cse_processors *processors)
{
    hwloc_topology_t topology;
    *processors = (cse_processors){ .count = 0 };
    CSE_TRY(new_topology(&topology));
    cse_status status = load_described(topology, text);
    if (status == CSE_OK)
        status = list(topology, NULL, processors);
    hwloc_topology_destroy(topology);
    return status;
}

/* Whether each part of a level has as many parts of the next one as all others. */
static bool are_alike(const cse_processors *p)
{
    const int of_core = p->count / p->cores, of_cache = p->count / p->caches,
              of_memory = p->count / p->memories, of_socket = p->count / p->sockets;
    if (p->caches % p->memories != 0 || p->memories % p->sockets != 0)
        return false;
    for (int i = 0; i < p->count; i++) {
        const cse_processor *at = &p->items[i];
        if (at->core != i / of_core || at->cache != i / of_cache || at->memory != i / of_memory ||
            at->socket != i / of_socket)
            return false;
    }
    return true;
}

void cse_processors_describe(const cse_processors *p, char *text, size_t size)
{
    if (are_alike(p))
        snprintf(text, size, "pack:%d numa:%d l3:%d core:%d pu:%d", p->sockets,
                 p->memories / p->sockets, p->caches / p->memories, p->cores / p->caches,
                 p->count / p->cores);
    else
        snprintf(text, size, "core:%d pu:1", p->cores);
}

void cse_processors_clear(cse_processors *processors)
{
    free(processors->items);
    *processors = (cse_processors){ .count = 0 };
}
