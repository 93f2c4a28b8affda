/* What is counted in a block of 256 values: NaNs, infinities, zeros, and what rounding to a format
 * changes; and the block's contribution to a tensor's digest.
 *
 * The length is fixed so that every loop vectorises. Rounding is done on the bits of float32,
 * without converting to 16 bits and back; tests compare it with the formats' own conversions. */
#ifndef CSE_EXECUTE_BLOCK_COUNTS_H
#define CSE_EXECUTE_BLOCK_COUNTS_H

#include "engine/base/types/dtype.h"

enum { CSE_DIGEST_BLOCK = 256 };

/* Bits of float32 magnitudes. */
#define CSE_BITS_INFINITE 0x7f800000u
#define CSE_BITS_LEAST_NORMAL 0x00800000u

typedef struct cse_block_counts {
    uint32_t nan, infinite; /* of the rounded values */
    uint32_t saturated;     /* finite values that rounding made infinite */
    uint32_t flushed;       /* values that rounding made zero */
    uint32_t zeros;         /* zero before rounding */
    uint32_t low, high; /* sums of the rounded values, each times an odd factor of its position */
} cse_block_counts;

/* Counts the values whose float32 bits are `x`, rounded to `rounded`. */
cse_block_counts cse_count_block(const uint32_t x[CSE_DIGEST_BLOCK], cse_dtype rounded);

/* The block's contribution to its tensor's digest; `block` is its number in the tensor. */
uint64_t cse_block_digest(cse_block_counts counts, uint64_t block, uint64_t microbatch);

#endif
