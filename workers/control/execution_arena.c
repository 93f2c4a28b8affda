/* An arena has more places for records than steps may be ahead of the coordinator, so that training
 * does not wait while the run store writes them. */
#include "workers/control/execution_arena.h"

#include "engine/base/log.h"
#include "engine/base/memory_limit.h"
#include "engine/code/execute/tensor_statistics.h"
#include "workers/arena/arena_budget.h"
#include "workers/arena/arena_nodes.h"
#include "workers/arena/inherit.h"
#include "workers/arena/layout.h"
#include "workers/arena/memory.h"
#include "workers/arena/private_memory.h"

enum {
    LEAST_RECORDS = 64,
    MOST_RECORDS = 4096,
    RECORDS_BYTES = 256 << 10, /* of more than the least */
    RECORD_HEAD_BYTES = 128,   /* more than a record takes beside its values */
};

int cse_execution_replicas(const cse_execution *e)
{
    const int most = e->graph->microbatch_count;
    return e->cluster.num_csx < most ? e->cluster.num_csx : most;
}

/* Of a step: one for each update chunk. */
static int64_t digest_bytes(const cse_execution *e)
{
    int64_t lines = 0;
    for (int i = 0; e->state_digests && i < e->graph->group_count; i++)
        if (e->graph->groups[i].part == CSE_PART_UPDATE)
            lines += cse_group_lines(&e->graph->groups[i]);
    const int64_t chunks = (lines + CSE_UPDATE_CHUNK_LINES - 1) / CSE_UPDATE_CHUNK_LINES;
    return (chunks < CSE_MOST_CHUNKS ? chunks : CSE_MOST_CHUNKS) * (int64_t)sizeof(uint64_t);
}

static int record_count(const cse_execution *e)
{
    int64_t bytes = e->graph->space_bytes[CSE_SPACE_FETCH] + RECORD_HEAD_BYTES + digest_bytes(e);
    if (e->statistics_every > 0)
        bytes +=
            e->graph->tracked_count * (int64_t)sizeof(cse_tensor_statistics) / e->statistics_every;
    const int64_t count = RECORDS_BYTES / bytes;
    return (int)(count < LEAST_RECORDS  ? LEAST_RECORDS
                 : count > MOST_RECORDS ? MOST_RECORDS
                                        : count);
}

/* Whether other hosts have the data, and this one has none. */
static bool lacks_data(const cse_execution *e)
{
    return e->hosts != NULL && !cse_hosts_have_data(&e->hosts->data_hosts, e->hosts->host);
}

static cse_cluster_layout layout_of(const cse_execution *e)
{
    const int replicas = cse_execution_replicas(e);
    const cse_host_set none = { { 0 } };
    return (cse_cluster_layout){ .graph = e->graph,
                                 .artefact_digest = e->artefact_digest,
                                 .data_identity = e->data_identity,
                                 .replica_count = replicas,
                                 .weight_server_count = e->cluster.max_wgt_servers,
                                 .input_worker_count =
                                     lacks_data(e) ? 0 : replicas * e->cluster.num_workers_per_csx,
                                 .weight_grad_reduce = e->cluster.weight_grad_reduce,
                                 .seed = e->seed,
                                 .directory = e->cluster.states_directory,
                                 .resident_bytes = e->cluster.states_memory_bytes,
                                 .first_step = e->first_step,
                                 .num_steps = e->num_steps,
                                 .record_count = record_count(e),
                                 .statistics_every = e->statistics_every,
                                 .state_digests = e->state_digests,
                                 .host = e->hosts != NULL ? e->hosts->host : 0,
                                 .host_count = e->hosts != NULL ? e->hosts->host_count : 1,
                                 .lost_hosts = e->hosts != NULL ? e->hosts->lost : none,
                                 .data_hosts = e->hosts != NULL ? e->hosts->data_hosts : none,
                                 .cut = e->hosts != NULL ? e->hosts->cut : NULL,
                                 .state_copies = e->hosts != NULL ? e->cluster.state_copies : 0,
                                 .leader = e->hosts != NULL ? e->hosts->leader : 0,
                                 .gather_directory = e->cluster.gather_directory };
}

/* A choice that takes memory, and changes no result: the same at each call of a run. */
static bool has_room_for_layers(const cse_execution *e, cse_cluster_layout layout)
{
    cse_arena_head head;
    const int64_t limit = e->cluster.memory_limit_bytes;
    layout.by_layers = true;
    if (e->graph->microbatch_count <= layout.replica_count ||
        cse_arena_plan(&layout, &head) != CSE_OK)
        return false;
    const int64_t bytes =
        head.resident_bytes + head.replicas * cse_private_layers_bytes(&head, e->graph);
    return bytes <= (limit > 0 ? limit : cse_memory_limit_look().bytes / 2);
}

cse_cluster_layout cse_execution_layout(const cse_execution *e)
{
    cse_cluster_layout layout = layout_of(e);
    const cse_cluster_options *o = &e->cluster;
    layout.by_layers = layout.directory != NULL && o->states_by_layers;
    if (layout.directory != NULL && o->states_by_layers_with_room)
        layout.by_layers = has_room_for_layers(e, layout);
    return layout;
}

cse_status cse_execution_check_counts(const cse_cluster_options *o)
{
    if (o->num_csx < 1 || o->num_workers_per_csx < 1 || o->max_wgt_servers < 0 ||
        o->num_workers_per_csx > CSE_MAX_SLOTS)
        return cse_fail(CSE_CONFIG,
                        "cluster: num_csx %d, num_workers_per_csx %d, max_wgt_servers %d: accepted "
                        "are at least 1, 1 and 0",
                        o->num_csx, o->num_workers_per_csx, o->max_wgt_servers);
    return CSE_OK;
}

/* An arena in a file: with fewer bytes in memory, a unit of work would not have all of its own. */
static cse_status check_resident(const cse_cluster_layout *layout)
{
    cse_arena_head head;
    int group;
    if (layout->state_copies > 0 && layout->statistics_every > 0)
        return cse_fail(CSE_CONFIG, "states.shard: optimizer: a run with tensor statistics has all "
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
