/* An arena has more places for records than steps may be ahead of the coordinator, so that training
 * does not wait while the run store writes them. */
#include "workers/control/execution_layout.h"

#include "engine/code/execute/tensor_statistics.h"
#include "workers/arena/layout.h"

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

cse_cluster_layout cse_execution_layout_of(const cse_execution *e)
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
                                 .audit_fraction = e->cluster.audit_fraction,
                                 .host = e->hosts != NULL ? e->hosts->host : 0,
                                 .host_count = e->hosts != NULL ? e->hosts->host_count : 1,
                                 .lost_hosts = e->hosts != NULL ? e->hosts->lost : none,
                                 .data_hosts = e->hosts != NULL ? e->hosts->data_hosts : none,
                                 .cut = e->hosts != NULL ? e->hosts->cut : NULL,
                                 .state_copies = e->hosts != NULL ? e->cluster.state_copies : 0,
                                 .cuts_gradients = e->cluster.cuts_gradients,
                                 .leader = e->hosts != NULL ? e->hosts->leader : 0,
                                 .gather_directory = e->cluster.gather_directory };
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
