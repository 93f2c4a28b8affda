/* Without the machine's description a run goes on unbound, unless it asked to be bound. */
#include "workers/control/execution_places.h"

#include <stdlib.h>

#include "engine/base/arena.h"
#include "workers/control/execution_layout.h"

static void find_nodes(cse_execution_places *places, int count)
{
    places->nodes = cse_calloc((size_t)count + 1, sizeof *places->nodes);
    for (int i = 0; i < count; i++) {
        const cse_processor *p =
            cse_placement_processor(&places->processors, &places->placement, i);
        places->nodes[i] = p != NULL ? p->node : -1;
    }
    places->arena_nodes =
        (cse_arena_nodes){ places->nodes, places->nodes + places->placement.replicas };
    places->several_nodes = places->placement.bound && places->processors.memories > 1;
}

cse_status cse_execution_places_find(const cse_execution *e, cse_execution_places *places)
{
    const int counts[2] = { cse_execution_replicas(e), e->cluster.max_wgt_servers };
    *places = (cse_execution_places){ .nodes = NULL };
    const cse_status status = cse_processors_of_host(&places->processors);
    if (status != CSE_OK && e->cluster.binding == CSE_BINDING_CORES)
        return status;
    cse_placement_make(&places->processors, counts, e->cluster.binding, &places->placement);
    find_nodes(places, counts[0] + counts[1]);
    return CSE_OK;
}

void cse_execution_places_clear(cse_execution_places *places)
{
    cse_processors_clear(&places->processors);
    cse_placement_clear(&places->placement);
    free(places->nodes);
    *places = (cse_execution_places){ .nodes = NULL };
}

int cse_execution_processor(const cse_execution_places *places, int slot)
{
    const cse_placement *placement = &places->placement;
    if (slot >= placement->replicas + placement->weight_servers)
        return -1;
    const cse_processor *p = cse_placement_processor(&places->processors, placement, slot);
    return p != NULL ? p->number : -1;
}
