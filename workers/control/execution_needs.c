/* The sizes are those that the arena and the workers will have: they are asked, and not counted
 * anew here. */
#include "workers/control/execution_needs.h"

#include "workers/arena/memory.h"
#include "workers/arena/private_memory.h"
#include "workers/control/execution_arena.h"

int64_t cse_cores_of(int64_t replicas, int64_t workers_per_replica, int64_t weight_servers)
{
    const int64_t further = workers_per_replica > 1 ? workers_per_replica - 1 : 0;
    return replicas + replicas * further + weight_servers;
}

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

cse_status cse_execution_needs_find(const cse_execution *e, cse_execution_needs *needs)
{
    cse_arena_head head;
    const cse_cluster_layout layout = cse_execution_layout(e);
    CSE_TRY(cse_execution_check_counts(&e->cluster));
    CSE_TRY(cse_arena_plan(&layout, &head));
    const int workers = cse_arena_slot_count(&head);
    const bool in_file = head.resident_bytes > 0; /* and so is the copy for a checkpoint */
    *needs = (cse_execution_needs){
        .replicas = head.replicas,
        .weight_servers = head.weight_servers,
        .input_workers = head.input_workers,
        .movers = head.movers,
        .cores = (int)cse_cores_of(head.replicas, head.input_workers / head.replicas,
                                   head.weight_servers),
        .arena_bytes = in_file ? head.resident_bytes
                               : head.sparse_offset + partial_sums(&head) * head.partial_sum_stride,
        .worker_bytes = workers * (int64_t)CSE_WORKER_BASE_BYTES +
                        head.replicas * cse_private_replica_bytes(&head, e->graph) +
                        head.weight_servers * cse_private_server_bytes(&head, e->graph) +
                        head.input_workers * e->loader_bytes,
        .coordinator_bytes =
            CSE_COORDINATOR_BASE_BYTES + (in_file ? 0 : head.state_bytes) + e->loader_bytes,
    };
    return CSE_OK;
}

int64_t cse_execution_needs_bytes(const cse_execution_needs *needs)
{
    const int64_t processes =
        needs->worker_bytes > CSE_COMPILER_BYTES ? needs->worker_bytes : CSE_COMPILER_BYTES;
    return needs->arena_bytes + processes + needs->coordinator_bytes;
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
}
