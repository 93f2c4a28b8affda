/* Rounds: all first threads, all second ones, ..., and again from the start when there are more
 * processes than processors. The last round takes some, evenly. */
#include "workers/placement/placement.h"

#include <stdlib.h>

#include "engine/base/arena.h"

static int threads_of(const cse_processors *processors)
{
    int most = 0;
    for (int i = 0; i < processors->count; i++)
        most = processors->items[i].thread > most ? processors->items[i].thread : most;
    return most + 1;
}

static int count_thread(const cse_processors *processors, int thread)
{
    int count = 0;
    for (int i = 0; i < processors->count; i++)
        count += processors->items[i].thread == thread;
    return count;
}

/* Adds `wanted` of the `count` processors with this thread to `uses`: number k of them where
 * k * wanted / count passes a whole number, so that each part of the machine's order gets its share
 * to within one. */
static void use_evenly(const cse_processors *processors, int thread, int count, int wanted,
                       int uses[])
{
    int k = 0;
    for (int i = 0; i < processors->count; i++) {
        if (processors->items[i].thread != thread)
            continue;
        const int64_t before = (int64_t)k * wanted / count, after = (k + 1LL) * wanted / count;
        uses[i] += after > before;
        k++;
    }
}

/* How many processes each processor gets. */
static void count_uses(const cse_processors *processors, int processes, int uses[])
{
    const int threads = threads_of(processors);
    for (int left = processes; left > 0;)
        for (int thread = 0; thread < threads && left > 0; thread++) {
            const int count = count_thread(processors, thread);
            const int taken = count < left ? count : left;
            use_evenly(processors, thread, count, taken, uses);
            left -= taken;
        }
}

/* Whether process k of all, in the machine's order, is a weight server: evenly among the others. */
static bool is_server(int k, int servers, int all)
{
    return (k + 1LL) * servers / all > (int64_t)k * servers / all;
}

static void hand_out(const cse_processors *processors, int servers, int all,
                     cse_placement *placement)
{
    int *uses = cse_calloc((size_t)processors->count, sizeof *uses);
    int k = 0, replica = 0, server = placement->replicas;
    count_uses(processors, all, uses);
    for (int i = 0; i < processors->count; i++) {
        for (int u = 0; u < uses[i]; u++, k++)
            placement->places[servers > 0 && is_server(k, servers, all) ? server++ : replica++] = i;
        if (uses[i] > placement->most_shared)
            placement->most_shared = uses[i];
    }
    free(uses);
}

static bool binds(const cse_processors *processors, int all, cse_binding binding)
{
    if (binding == CSE_BINDING_AUTO)
        return all <= processors->count && processors->count <= 2 * (int64_t)all;
    return binding == CSE_BINDING_CORES && processors->count > 0;
}

void cse_placement_make(const cse_processors *processors, const int counts[2], cse_binding binding,
                        cse_placement *placement)
{
    const int replicas = counts[0];
    const int servers = replicas + counts[1] <= processors->count ? counts[1] : 0;
    const int all = replicas + servers, places = replicas + counts[1];
    *placement = (cse_placement){ .replicas = replicas, .weight_servers = counts[1] };
    placement->places = cse_calloc((size_t)places + 1, sizeof *placement->places);
    for (int i = 0; i < places; i++)
        placement->places[i] = -1;
    placement->bound = replicas > 0 && binds(processors, all, binding);
    if (placement->bound)
        hand_out(processors, servers, all, placement);
}

void cse_placement_clear(cse_placement *placement)
{
    free(placement->places);
    *placement = (cse_placement){ .places = NULL };
}

const cse_processor *cse_placement_processor(const cse_processors *processors,
                                             const cse_placement *placement, int index)
{
    const int place = placement->places[index];
    return place >= 0 ? &processors->items[place] : NULL;
}
