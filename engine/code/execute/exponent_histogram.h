/* A histogram of the exponents of float32 values, counted block by block.
 *
 * Most values of a block have exponents near each other: each of those exponents is then counted in
 * vectors. Where they are spread, consecutive values increment different tables in turn, because
 * equal exponents often follow each other and an increment would wait for the previous one of the
 * same entry. */
#ifndef CSE_EXECUTE_EXPONENT_HISTOGRAM_H
#define CSE_EXECUTE_EXPONENT_HISTOGRAM_H

#include "engine/code/execute/block_counts.h"

/* Bin e holds biased exponent e: bin 0 zero and subnormal numbers, bin 255 infinities and NaNs. */
enum { CSE_EXPONENT_BINS = 256, CSE_EXPONENT_BIAS = 127 };
enum { CSE_HISTOGRAM_TABLES = 8, CSE_HISTOGRAM_LANES = 64 };

typedef uint8_t cse_byte_lanes __attribute__((vector_size(CSE_HISTOGRAM_LANES)));

/* The least and the greatest of some exponents; greatest < least where there is none. */
typedef struct cse_exponent_range {
    uint8_t least, greatest;
} cse_exponent_range;

/* Starts as cse_exponent_histogram_start gives it. */
typedef struct cse_exponent_histogram {
    /* Each exponent's count in parts, which are summed before one of them could exceed a byte. */
    cse_byte_lanes near[CSE_EXPONENT_BINS];
    uint32_t tables[CSE_HISTOGRAM_TABLES][CSE_EXPONENT_BINS];
    cse_exponent_range range; /* of what `near` holds */
    int blocks;               /* that `near` holds */
} cse_exponent_histogram;

void cse_exponent_histogram_start(cse_exponent_histogram *histogram);

/* Counts a block whose zeros, infinities and NaNs are known already. */
void cse_exponent_histogram_count(cse_exponent_histogram *histogram,
                                  const uint32_t x[CSE_DIGEST_BLOCK], cse_block_counts counts);

/* Adds all that was counted to `bins`; ends the histogram. */
void cse_exponent_histogram_add_to(cse_exponent_histogram *histogram,
                                   uint64_t bins[CSE_EXPONENT_BINS]);

#endif
