/* A new arena is made where the layout has room for each unit of work; one that stands is checked
 * against the layout. */
#include "workers/control/execution_arena.h"

#include "engine/base/log.h"
#include "workers/arena/arena_budget.h"
#include "workers/arena/arena_nodes.h"
#include "workers/arena/inherit.h"
#include "workers/arena/layout.h"
#include "workers/arena/memory.h"
#include "workers/control/execution_layout.h"
#include "workers/control/execution_needs.h"

/* An arena in a file: with fewer bytes in memory, a unit of work would not have all of its own. */
static cse_status check_resident(const cse_cluster_layout *layout)
{
    cse_arena_head head;
    int group;
    if (layout->state_copies > 0 && layout->statistics_every > 0)
        return cse_fail(CSE_CONFIG, "states.shard: a run with tensor statistics has all "
                                    "states on each host: leave shard out");
    if (layout->directory == NULL)
        return CSE_OK;
    if (layout->host_count > 1 || layout->statistics_every > 0)
        return cse_fail(CSE_CONFIG,
                        "states.keep_in: file: a run %s keeps its states in memory: leave "
                        "states out",
                        layout->host_count > 1 ? "on several hosts" : "with tensor statistics");
    CSE_TRY(cse_arena_plan(layout, &head));
    const int64_t least = cse_arena_least_resident(layout->graph, &head, &group);
    if (head.resident_bytes >= least)
        return CSE_OK;
    const cse_group *most = group >= 0 ? &layout->graph->groups[group] : NULL;
    return cse_fail(CSE_CONFIG,
                    "states.memory is %lld bytes; this step needs at least %lld with %d processes "
                    "that compute%s%s",
                    (long long)head.resident_bytes, (long long)least,
                    head.replicas + head.weight_servers, most != NULL ? ", most of all in " : "",
                    most != NULL ? most->nodes[most->node_count - 1]->scope : "");
}

cse_status cse_execution_arena(const cse_execution *e, const cse_arena_nodes *nodes,
                               cse_cluster **cluster)
{
    const cse_cluster_options *o = &e->cluster;
    *cluster = e->inherited;
    if (*cluster != NULL)
        return CSE_OK;
    if (o->num_csx > e->graph->microbatch_count)
        cse_log_line(
            CSE_LOG_WARNING,
            "num_csx %d: the global batch has %d microbatches, more replicas would have none",
            o->num_csx, e->graph->microbatch_count);
    CSE_TRY(cse_execution_check_counts(o));
    cse_cluster_layout layout = cse_execution_layout(e);
    layout.nodes = nodes;
    layout.reserves_apart = layout.states == NULL;
    CSE_TRY(check_resident(&layout));
    if (layout.directory != NULL)
        cse_log_line(CSE_LOG_INFO, "states in %s: %s", layout.directory,
                     layout.by_layers ? "all microbatches of a replica go through a layer together"
                                      : "one microbatch after the other goes through all layers");
    return cse_cluster_create(&layout, cluster);
}

cse_status cse_execution_extend(const cse_execution *e, cse_cluster *cluster)
{
    const cse_cluster_layout layout = cse_execution_layout(e);
    return cse_cluster_extend(cluster, &layout);
}

cse_status cse_execution_inherit(const cse_execution *e, int descriptor, cse_cluster **cluster)
{
    const cse_cluster_layout layout = cse_execution_layout(e);
    CSE_TRY(cse_cluster_inherit(&layout, descriptor, cluster));
    if (!cse_cluster_has_survivors(*cluster)) {
        cse_cluster_settle(*cluster);
        return CSE_OK;
    }
    cse_cluster_destroy(cluster);
    return cse_fail(CSE_UNAVAILABLE, "a worker of the coordinator before is still there");
}
