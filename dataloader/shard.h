/* Which input worker serves which microbatch.
 *
 * A pool of workers serves one stream of microbatches numbered q = 0, 1, ... without a gap;
 * worker q % workers serves number q. Workers never have to agree on anything: each knows its
 * share from its rank alone, the shares are disjoint and leave nothing out, and since a
 * microbatch's content is a pure function of its place, the stream is the same for every number
 * of workers. */
#ifndef CSE_DATALOADER_SHARD_H
#define CSE_DATALOADER_SHARD_H

#include <stdint.h>

/* Number in the run's stream of microbatch `m` of step `step`, with `microbatches` in each step.
 * A pool that serves only some microbatches of each step numbers those alike, by their own
 * count. */
int64_t cse_shard_number(int64_t step, int64_t microbatches, int64_t m);

/* Rank of the worker, of `workers` (>= 1), that serves number `q` (>= 0). */
int cse_shard_worker(int64_t q, int workers);

/* The first number from `q` (>= 0) on that the worker with `rank` serves: where a worker starts
 * when a run resumes, and with q = previous + 1 where it goes on. */
int64_t cse_shard_next(int64_t q, int rank, int workers);

#endif
