/* Which source a sample of a mixture is taken from: a pure function of seed and index.
 *
 * Indices stand in blocks of CSE_MIXTURE_BLOCK. In each block every source has as many places as
 * its weight says, at least one; the places are permuted by (seed, block). A source is gone through
 * in an order that is permuted anew by (seed, source, pass) each time. */
#ifndef CSE_DATALOADER_MIXTURE_H
#define CSE_DATALOADER_MIXTURE_H

#include <stdint.h>

#include "csengine/status.h"

enum { CSE_MIXTURE_BLOCK = 1 << 16, CSE_MIXTURE_SOURCES = 256 };

typedef struct cse_mixture {
    uint64_t seed;
    int count;
    int64_t samples[CSE_MIXTURE_SOURCES];   /* of each source */
    int64_t first[CSE_MIXTURE_SOURCES + 1]; /* of its places in a block */
} cse_mixture;

/* `weights` of any sum, each above 0. */
void cse_mixture_make(cse_mixture *mixture, const double *weights);

typedef struct cse_mixture_place {
    int source;
    int64_t sample;
} cse_mixture_place;
cse_mixture_place cse_mixture_at(const cse_mixture *mixture, int64_t index);

#endif
