/* A pure function of the cut, the replicas and the lost hosts. */
#include "workers/arena/node_plan.h"

void cse_own_microbatches(const cse_cluster *cluster, int64_t step, int *first, int *end)
{
    const cse_arena_head *head = cluster->head;
    *first = 0;
    *end = head->microbatches;
    if (cluster->hosts == NULL)
        return;
    const cse_host_cut *cut = cse_arena_cut(cluster, step);
    *first = cut->bounds[head->host];
    *end = cut->bounds[head->host + 1];
}

static void add_own(const cse_cluster *cluster, int64_t step, int replica, cse_node_plan *plan)
{
    const int microbatches = cluster->head->microbatches;
    int from, to, first, end;
    cse_own_microbatches(cluster, step, &from, &to);
    for (int r = 0; r < plan->replicas; r++) {
        cse_tree_share(to - from, plan->replicas, r, &first, &end);
        int count =
            cse_tree_cover(microbatches, from + first, from + end, plan->nodes + plan->count);
        if (r == replica % plan->replicas) {
            plan->own_first = plan->count;
            plan->own_end = plan->count + count;
        }
        plan->count += count;
    }
}

static void add_others(const cse_cluster *cluster, bool lost, cse_node_plan *plan)
{
    const cse_arena_head *head = cluster->head;
    for (int h = 0; h < head->host_count; h++)
        if (h != head->host && cse_hosts_have(&plan->lost, h) == lost)
            plan->count += cse_tree_cover(head->microbatches, plan->cut->bounds[h],
                                          plan->cut->bounds[h + 1], plan->nodes + plan->count);
}

bool cse_node_plan_make(const cse_cluster *cluster, int64_t step, int replicas, int replica,
                        cse_node_plan *plan)
{
    const cse_host_cut *cut = cluster->hosts != NULL ? cse_arena_cut(cluster, step) : NULL;
    const cse_host_set lost = cse_arena_lost(cluster);
    const int64_t cut_step = cut != NULL ? cut->first_step : 0;
    if (plan->replicas == replicas && cse_hosts_equal(&plan->lost, &lost) && plan->cut == cut &&
        plan->cut_step == cut_step)
        return false;
    *plan = (cse_node_plan){
        .nodes = plan->nodes, .replicas = replicas, .lost = lost, .cut = cut, .cut_step = cut_step
    };
    add_own(cluster, step, replica, plan);
    if (cut != NULL)
        add_others(cluster, true, plan);
    plan->claimable = plan->count;
    if (cut != NULL)
        add_others(cluster, false, plan);
    return true;
}

bool cse_node_complete(const cse_cluster *cluster, cse_tree_node node, int64_t sequence)
{
    const uint64_t word = cse_word_load(&cluster->nodes[node.heap]);
    if (cse_node_is_done(cluster, node, sequence))
        return true;
    return cse_word_is(word, CSE_WORD_SPLIT, sequence) &&
           cse_node_complete(cluster, cse_tree_left(node), sequence) &&
           cse_node_complete(cluster, cse_tree_right(node), sequence);
}
