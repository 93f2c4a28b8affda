/* With two owners whole pieces need one exchange less. */
#include "workers/arena/shards.h"

enum { LEAST_OWNERS = 3 };

cse_host_set cse_shard_owners(const cse_host_cut *cut)
{
    cse_host_set owners = { { 0 } };
    for (int h = 0; h < cut->host_count; h++)
        if (cut->bounds[h + 1] > cut->bounds[h])
            cse_hosts_add(&owners, h);
    return owners;
}

bool cse_step_is_sharded(const cse_cluster *cluster, int64_t step)
{
    if (cluster->hosts == NULL || cluster->head->gradient_cut == CSE_GRADIENTS_BY_PARTS)
        return false;
    const cse_host_set owners = cse_shard_owners(cse_arena_cut(cluster, step));
    return cse_hosts_count(&owners) >= LEAST_OWNERS;
}

cse_stripes cse_shard_of(const cse_host_set *owners, int host, int64_t elements)
{
    if (!cse_hosts_have(owners, host))
        return (cse_stripes){ .elements = elements };
    return cse_stripes_dealt(elements, cse_hosts_before(owners, host), cse_hosts_count(owners));
}

unsigned char *cse_arena_root_sum(const cse_cluster *cluster, int64_t step)
{
    const cse_arena_head *head = cluster->head;
    const int place = cse_step_is_sharded(cluster, step) ? head->microbatches : 0;
    return cluster->base + head->partial_sums_offset + place * head->partial_sum_stride;
}

unsigned char *cse_arena_joined_sums(const cse_cluster *cluster, uint64_t step)
{
    return cse_step_flags(step) & CSE_STEP_SINGLE_PARTIAL_SUM
               ? cse_arena_root_sum(cluster, cse_step_number(step))
               : cluster->base + cluster->head->reduced_offset;
}
