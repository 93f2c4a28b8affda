/* The sizes are those that the arena and the workers will have: they are asked, and not counted
 * anew here. */
#include "workers/control/execution_needs.h"

#include <stdlib.h>

#include "engine/base/arena.h"
#include "engine/base/memory_limit.h"
#include "workers/arena/memory.h"
#include "workers/arena/private_memory.h"
#include "workers/arena/state_ranges.h"
#include "workers/control/execution_layout.h"

int64_t cse_cores_of(int64_t replicas, int64_t workers_per_replica, int64_t weight_servers)
{
    const int64_t further = workers_per_replica > 1 ? workers_per_replica - 1 : 0;
    return replicas + replicas * further + weight_servers;
}

enum {
    /* Of a node of the graph: in a worker, which reads the plan, and in the coordinator, which has
     * traced it. Measured with 200 to 14,000 nodes. */
    WORKER_NODE_BYTES = 560,
    COORDINATOR_NODE_BYTES = 2800,
};

/* Partial sums in the arena: those of the nodes that the replicas make; on several hosts at most
 * one for each microbatch, and one for the root. */
static int64_t partial_sums(const cse_arena_head *head)
{
    int64_t count = 0;
    if (head->host_count > 1)
        return head->microbatches + (head->host_count > 2);
    for (int replica = 0; replica < head->replicas; replica++) {
        int at, end;
        cse_tree_share(head->microbatches, head->replicas, replica, &at, &end);
        for (; at < end; count++)
            at = cse_tree_next(head->microbatches, at, end);
    }
    return count;
}

/* Nodes that `replicas` replicas make of microbatches [first, first + share). */
static int own_nodes(int microbatches, int first, int share, int replicas)
{
    int count = 0;
    for (int replica = 0; replica < replicas && share > 0; replica++) {
        int at, end;
        cse_tree_share(share, replicas, replica, &at, &end);
        for (; at < end; count++)
            at = cse_tree_next(microbatches, first + at, first + end) - first;
    }
    return count;
}

/* Of a piece that another one of `working` hosts makes. */
static int64_t piece_bytes(const cse_execution_needs *n, int hosts, int working)
{
    const int64_t rest = n->sum_stride - n->common_bytes;
    const int copies = n->state_copies < hosts ? n->state_copies : hosts;
    if (n->gradient_cut == CSE_GRADIENTS_BY_PARTS)
        return n->common_bytes + (rest * copies + hosts - 1) / hosts;
    return n->gradient_cut == CSE_GRADIENTS_BY_STRIPES && working > 2
               ? (n->sum_stride + working - 1) / working
               : n->sum_stride;
}

/* Of host `host` in a cut: its own nodes, the pieces of others, and the root that is joined of
 * them in shards. */
static int64_t sums_in_cut(const cse_execution_needs *n, const cse_host_cut *cut, int host)
{
    int others = 0, working = 0;
    for (int h = 0; h < cut->host_count; h++) {
        working += cut->bounds[h + 1] > cut->bounds[h];
        others += h != host ? cse_host_cut_pieces(cut, h) : 0;
    }
    const int first = cut->bounds[host], share = cut->bounds[host + 1] - first;
    const bool has_root = working > 2 && n->gradient_cut != CSE_GRADIENTS_BY_PARTS;
    return (own_nodes(n->microbatches, first, share, n->replicas) + has_root) * n->sum_stride +
           others * piece_bytes(n, cut->host_count, working);
}

int64_t cse_execution_sums_on(const cse_execution_needs *needs, int hosts)
{
    const cse_host_set all = cse_hosts_first(hosts);
    cse_host_cut cut;
    int64_t most = 0;
    cse_host_cut_even(needs->microbatches, hosts, &all, &cut);
    for (int h = 0; h < hosts; h++) {
        const int64_t bytes = sums_in_cut(needs, &cut, h);
        most = bytes > most ? bytes : most;
    }
    return most + needs->reduced_bytes;
}

/* Of the private sums of a replica (private_memory.h), those that it makes in its share; in a file
 * they are in the arena. */
static int64_t private_sums(const cse_arena_head *head)
{
    int sums = head->host_count > 1 ? cse_tree_depth(head->microbatches) - 1 : 0;
    for (int replica = 0; replica < head->replicas && head->host_count == 1; replica++) {
        int at, end;
        cse_tree_share(head->microbatches, head->replicas, replica, &at, &end);
        while (at < end) {
            const int next = cse_tree_next(head->microbatches, at, end);
            const int of_node = cse_tree_depth(next - at) - 1;
            sums = of_node > sums ? of_node : sums;
            at = next;
        }
    }
    if (head->resident_bytes > 0)
        return 0;
    return (sums + !head->exact) * head->partial_sum_stride;
}

/* What a replica has for microbatches: values of one, and sums. */
static int64_t microbatch_bytes(const cse_arena_head *head, const cse_graph *graph)
{
    if (head->by_layers)
        return cse_private_layers_bytes(head, graph);
    return graph->space_bytes[CSE_SPACE_REPLICA] + private_sums(head);
}

/* Of states that are cut over hosts: what the host has no memory for. */
static int64_t absent_bytes(const cse_cluster_layout *layout, const cse_arena_head *head)
{
    cse_byte_range *spans = NULL;
    int64_t bytes = 0;
    if (head->state_copies == 0)
        return 0;
    const cse_host_set owners = cse_arena_state_owners(layout);
    const int count = cse_absent_states(layout->graph, head, &owners, head->host, &spans);
    for (int i = 0; i < count; i++)
        bytes += spans[i].end - spans[i].first;
    free(spans);
    return bytes;
}

/* What several hosts would cut. */
static int64_t cut_bytes(const cse_execution *e, const cse_arena_head *head)
{
    int64_t bytes = 0;
    if (e->cluster.state_copies == 0)
        return 0;
    const int count = cse_state_ranges_find(e->graph, head, NULL, NULL);
    cse_state_range *items = cse_calloc((size_t)count + 1, sizeof *items);
    cse_state_chunk *chunks = cse_calloc((size_t)head->update_chunks + 1, sizeof *chunks);
    cse_state_ranges_find(e->graph, head, items, chunks);
    for (int c = 0; c < head->update_chunks; c++)
        for (int r = chunks[c].ranges[CSE_STATES_OWN]; r < chunks[c].ranges[CSE_STATE_SHARES]; r++)
            bytes += items[r].bytes;
    free(items);
    free(chunks);
    return bytes;
}

int64_t cse_execution_states_on(const cse_execution_needs *needs, int hosts)
{
    const int copies = needs->state_copies < hosts ? needs->state_copies : hosts;
    return needs->state_bytes - needs->cut_bytes +
           (needs->cut_bytes * (copies > 0 ? copies : hosts) + hosts - 1) / hosts;
}

/* A choice that takes memory, and changes no result: the same at each call of a run. */
static bool has_room_for_layers(const cse_execution *e, cse_cluster_layout layout)
{
    cse_execution_needs needs;
    cse_execution known = *e;
    const int64_t limit = e->cluster.memory_limit_bytes;
    known.scratch_bytes = known.loader_bytes = 0; /* which not every caller has asked for */
    layout.by_layers = true;
    if (e->graph->microbatch_count <= layout.replica_count ||
        cse_execution_needs_for(&known, &layout, &needs) != CSE_OK)
        return false;
    return cse_execution_steps_bytes(&needs) + needs.checkpoint_bytes <=
           (limit > 0 ? limit : cse_memory_limit_look().bytes / 2);
}

cse_cluster_layout cse_execution_layout(const cse_execution *e)
{
    cse_cluster_layout layout = cse_execution_layout_of(e);
    const cse_cluster_options *o = &e->cluster;
    layout.by_layers = layout.directory != NULL && o->states_by_layers;
    if (layout.directory != NULL && o->states_by_layers_with_room)
        layout.by_layers = has_room_for_layers(e, layout);
    return layout;
}

cse_status cse_execution_needs_find(const cse_execution *e, cse_execution_needs *needs)
{
    const cse_cluster_layout layout = cse_execution_layout(e);
    return cse_execution_needs_for(e, &layout, needs);
}

cse_status cse_execution_needs_for(const cse_execution *e, const cse_cluster_layout *layout,
                                   cse_execution_needs *needs)
{
    cse_arena_head head;
    CSE_TRY(cse_execution_check_counts(&e->cluster));
    CSE_TRY(cse_arena_plan(layout, &head));
    const int64_t base = CSE_WORKER_BASE_BYTES + e->graph->node_count * (int64_t)WORKER_NODE_BYTES;
    const bool cuts = head.gradient_cut != CSE_GRADIENTS_WHOLE;
    const int64_t absent = absent_bytes(layout, &head);
    const bool in_file = head.resident_bytes > 0; /* and so is the copy for a checkpoint */
    *needs = (cse_execution_needs){
        .replicas = head.replicas,
        .weight_servers = head.weight_servers,
        .input_workers = head.input_workers,
        .movers = head.movers,
        .cores = (int)cse_cores_of(head.replicas, head.input_workers / head.replicas,
                                   head.weight_servers),
        .coordinator_bytes = CSE_COORDINATOR_BASE_BYTES + e->loader_bytes +
                             e->graph->node_count * (int64_t)COORDINATOR_NODE_BYTES,
        .checkpoint_bytes =
            e->copies_states && !in_file && head.state_copies == 0 ? head.state_bytes : 0,
        .replica_bytes = base + e->scratch_bytes + microbatch_bytes(&head, e->graph) +
                         cse_private_server_bytes(&head, e->graph),
        .weight_server_bytes = base + cse_private_server_bytes(&head, e->graph),
        .input_worker_bytes = base + e->loader_bytes,
        .mover_bytes = base,
        .state_bytes = head.state_bytes - absent,
        .input_bytes = head.ring_count * head.input_stride,
        .workspace_bytes = e->graph->space_bytes[CSE_SPACE_REPLICA],
        .cut_bytes = cut_bytes(e, &head),
        .state_copies = e->cluster.state_copies,
        .sum_stride = head.partial_sum_stride,
        .common_bytes = head.joined_bytes,
        .reduced_bytes = head.joined_bytes,
        .microbatches = head.microbatches,
        .gradient_cut =
            e->cluster.cuts_gradients ? (int)cse_gradient_cut_for(&head) : CSE_GRADIENTS_WHOLE,
    };
    const int64_t sums = cuts ? sums_in_cut(needs, layout->cut, head.host)
                              : partial_sums(&head) * head.partial_sum_stride;
    needs->arena_bytes = in_file ? head.resident_bytes : head.sparse_offset - absent + sums;
    needs->sum_bytes = sums + cse_arena_reduced_bytes(&head);
    needs->worker_bytes = needs->replicas * needs->replica_bytes +
                          needs->weight_servers * needs->weight_server_bytes +
                          needs->input_workers * needs->input_worker_bytes +
                          needs->movers * needs->mover_bytes;
    return CSE_OK;
}

int64_t cse_execution_steps_bytes(const cse_execution_needs *needs)
{
    return needs->arena_bytes + needs->worker_bytes + needs->coordinator_bytes;
}

int64_t cse_execution_needs_bytes(const cse_execution_needs *needs)
{
    const int64_t processes =
        needs->worker_bytes > CSE_COMPILER_BYTES ? needs->worker_bytes : CSE_COMPILER_BYTES;
    return needs->arena_bytes + processes + needs->coordinator_bytes + needs->checkpoint_bytes;
}

static void raise_count(int *count, int other)
{
    *count = *count > other ? *count : other;
}

static void raise_bytes(int64_t *bytes, int64_t other)
{
    *bytes = *bytes > other ? *bytes : other;
}

void cse_execution_needs_raise(cse_execution_needs *needs, const cse_execution_needs *other)
{
    raise_count(&needs->replicas, other->replicas);
    raise_count(&needs->weight_servers, other->weight_servers);
    raise_count(&needs->input_workers, other->input_workers);
    raise_count(&needs->movers, other->movers);
    raise_count(&needs->cores, other->cores);
    raise_bytes(&needs->worker_bytes, other->worker_bytes);
    raise_bytes(&needs->coordinator_bytes, other->coordinator_bytes);
    raise_bytes(&needs->arena_bytes, other->arena_bytes);
    raise_bytes(&needs->checkpoint_bytes, other->checkpoint_bytes);
    raise_bytes(&needs->replica_bytes, other->replica_bytes);
    raise_bytes(&needs->weight_server_bytes, other->weight_server_bytes);
    raise_bytes(&needs->input_worker_bytes, other->input_worker_bytes);
    raise_bytes(&needs->mover_bytes, other->mover_bytes);
    raise_bytes(&needs->state_bytes, other->state_bytes);
    raise_bytes(&needs->cut_bytes, other->cut_bytes);
    raise_count(&needs->state_copies, other->state_copies);
    raise_bytes(&needs->sum_bytes, other->sum_bytes);
    raise_bytes(&needs->sum_stride, other->sum_stride);
    raise_bytes(&needs->common_bytes, other->common_bytes);
    raise_bytes(&needs->reduced_bytes, other->reduced_bytes);
    raise_count(&needs->microbatches, other->microbatches);
    raise_count(&needs->gradient_cut, other->gradient_cut);
    raise_bytes(&needs->input_bytes, other->input_bytes);
    raise_bytes(&needs->workspace_bytes, other->workspace_bytes);
}
