/* Shards begin at whole blocks of a join, so that no block is joined twice. */
#include "workers/arena/shards.h"

enum { LEAST_OWNERS = 3 };

uint64_t cse_shard_owners(const cse_host_cut *cut)
{
    uint64_t owners = 0;
    for (int h = 0; h < cut->host_count; h++)
        owners |= (uint64_t)(cut->bounds[h + 1] > cut->bounds[h]) << h;
    return owners;
}

bool cse_step_is_sharded(const cse_cluster *cluster, int64_t step)
{
    return cluster->hosts != NULL &&
           __builtin_popcountll(cse_shard_owners(cse_arena_cut(cluster, step))) >= LEAST_OWNERS;
}

void cse_shard_of(uint64_t owners, int host, int64_t elements, int64_t range[2])
{
    const int64_t blocks = (elements + CSE_JOIN_BLOCK - 1) / CSE_JOIN_BLOCK;
    const int shards = __builtin_popcountll(owners);
    const int place = __builtin_popcountll(owners & ((UINT64_C(1) << host) - 1));
    range[0] = range[1] = 0;
    if (!(owners >> host & 1))
        return;
    for (int i = 0; i < 2; i++) {
        const int64_t at = blocks * (place + i) / shards * CSE_JOIN_BLOCK;
        range[i] = at < elements ? at : elements;
    }
}

unsigned char *cse_arena_root_sum(const cse_cluster *cluster, int64_t step)
{
    const cse_arena_head *head = cluster->head;
    const int place = cse_step_is_sharded(cluster, step) ? head->microbatches : 0;
    return cluster->base + head->partial_sums_offset + place * head->partial_sum_stride;
}
