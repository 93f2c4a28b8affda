/* Which source a sample of a mixture is taken from: a pure function of seed and place, where places
 * count the samples of the run in the order in which they are drawn.
 *
 * Places stand in blocks of CSE_MIXTURE_BLOCK. In each block every source has as many as its weight
 * says, at least one. Which they are is decided by halves: of the places that a source has in a
 * range, each half of the range has half, and chance decides which half has more of an odd number.
 * So every range of 2^k places that begins at a multiple of 2^k has the shares of the weights, to
 * the nearest whole numbers, and how often a source was drawn before a place is known after 16
 * halvings. That number says which pass over the source it is, and which sample of the pass: each
 * sample comes once before any comes twice, in an order that is permuted anew by (seed, source,
 * pass). */
#ifndef CSE_DATALOADER_POSITIONS_MIXTURE_H
#define CSE_DATALOADER_POSITIONS_MIXTURE_H

#include <stdint.h>

#include "csengine/status.h"

enum { CSE_MIXTURE_BLOCK = 1 << 16, CSE_MIXTURE_SOURCES = 256 };

typedef struct cse_mixture {
    uint64_t seed;
    int count;
    int64_t samples[CSE_MIXTURE_SOURCES]; /* of each source */
    int64_t places[CSE_MIXTURE_SOURCES];  /* of each source in a block */
} cse_mixture;

/* `weights` of any sum, each above 0. */
void cse_mixture_make(cse_mixture *mixture, const double *weights);

typedef struct cse_mixture_place {
    int source;
    int64_t sample, pass; /* of the source */
} cse_mixture_place;
/* `place` from 0 on, without an end. */
cse_mixture_place cse_mixture_at(const cse_mixture *mixture, int64_t place);

#endif
