/* Drawing with replacement, each item as often as its weight says: a pure function of (seed,
 * place), as PyTorch's WeightedRandomSampler draws, without its list of an epoch.
 *
 * A draw takes one of the columns, all as likely as each other, and of each column at most two
 * items (Walker 1977, built as Vose 1991 does), so that it costs the same for any number of items.
 */
#ifndef CSE_DATALOADER_POSITIONS_WEIGHTED_H
#define CSE_DATALOADER_POSITIONS_WEIGHTED_H

#include <stdint.h>

typedef struct cse_weighted {
    int64_t count;
    double *kept;   /* [count]: the chance that a column is the item of its number */
    int64_t *other; /* [count]: the item that it is else */
} cse_weighted;

/* `weights`, none of them negative, with a finite sum above 0. */
cse_weighted *cse_weighted_new(const double *weights, int64_t count);
void cse_weighted_destroy(cse_weighted **weighted);

/* The item at `place` (from 0, without an end) of a run that draws by `seed`. */
int64_t cse_weighted_draw(const cse_weighted *weighted, uint64_t seed, int64_t place);

#endif
