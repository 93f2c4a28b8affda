/* The order of samples: a pure function of (seed, epoch, index).
 *
 * No list of indices is stored. Each epoch has a key, which selects a permutation of [0, n) that
 * can be evaluated at any index; so the position in the data is just a step number, and seeking has
 * constant cost. */
#ifndef CSE_DATALOADER_POSITIONS_SHUFFLE_H
#define CSE_DATALOADER_POSITIONS_SHUFFLE_H

#include <stdint.h>

/* Fewer samples than this are dealt one by one: all their orders are equally likely. */
enum { CSE_SHUFFLE_DEALT = 12 };

/* Key of the permutation of `epoch` (counted from 0) in a run shuffled with `seed`. */
uint64_t cse_shuffle_key(uint64_t seed, int64_t epoch);

/* The sample at place `index` (0 <= index < sample_count) of the epoch with `key`. */
int64_t cse_shuffle_sample(uint64_t key, int64_t sample_count, int64_t index);

#endif
