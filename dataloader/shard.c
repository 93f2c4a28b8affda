/* Remainders. */
#include "dataloader/shard.h"

int64_t cse_shard_number(int64_t step, int64_t microbatches, int64_t m)
{
    return step * microbatches + m;
}

int cse_shard_worker(int64_t q, int workers)
{
    return (int)(q % workers);
}

int64_t cse_shard_next(int64_t q, int rank, int workers)
{
    int ahead = rank - cse_shard_worker(q, workers);
    return q + (ahead < 0 ? ahead + workers : ahead);
}
