/* Shards: which host joins which elements of a gradient, where three or more hosts have a part in a
 * step.
 *
 * If each host sent its whole pieces to all others, H hosts would move H - 1 times what is needed.
 * So each host sends every other one only that one's shard of its pieces; the owner of a shard
 * joins it along the tree, as any host would, and sends the result to all (reduce-scatter and
 * all-gather: Thakur, Rabenseifner, Gropp 2005). A shard is a number of stripes, each of which is
 * joined as soon as all hosts' elements of it are there. With two hosts both ways move the same,
 * and whole pieces need one exchange less. The joined shards make the partial sum of the root,
 * which has a place of its own, behind those of the microbatches. */
#ifndef CSE_WORKERS_ARENA_SHARDS_H
#define CSE_WORKERS_ARENA_SHARDS_H

#include "workers/arena/layout.h"
#include "workers/arena/stripes.h"

/* Hosts that have microbatches: the owners of shards, in the order of their numbers. */
cse_host_set cse_shard_owners(const cse_host_cut *cut);

/* Whether the sums of step `step` are joined in shards, when no owner is lost. Never where each
 * host needs its part of them alone (gradient_ranges.h). */
bool cse_step_is_sharded(const cse_cluster *cluster, int64_t step);

/* A host's shard of `elements`, empty for one that owns none. */
cse_stripes cse_shard_of(const cse_host_set *owners, int host, int64_t elements);

/* Where the partial sum over all microbatches of the step lies, if there is one. */
unsigned char *cse_arena_root_sum(const cse_cluster *cluster, int64_t step);
/* Where the sums lie that a program reads at the step word `step`: the root's partial sum where it
 * is the only one, else what REDUCE has joined. */
unsigned char *cse_arena_joined_sums(const cse_cluster *cluster, uint64_t step);

#endif
