/* Products of few rows with a matrix whose rows are columns of the result, as a linear layer's: the
 * matrix is read once, as it lies, and turned in registers, so that a vector holds one unit
 * (packed_tiles.h) of each of 16 rows. A product of a token with all weights takes the time of
 * reading them. Orders of sums and bits are those of packed_tiles.h. */
#ifndef CSE_KERNELS_MATMUL_FEW_ROWS_H
#define CSE_KERNELS_MATMUL_FEW_ROWS_H

#include "engine/code/kernels/matmul_narrow.h"

enum { CSE_MATMUL_FEW_ROWS = 8 };

typedef struct cse_matmul_few {
    const char *x, *matrix; /* rows of units */
    int64_t x_bytes, row_bytes, units;
    int64_t rows, columns; /* of the result; rows: 1 to CSE_MATMUL_FEW_ROWS */
    bool dot;              /* the order: `dot`, else `chain` */
    const cse_matmul_end *end;
} cse_matmul_few;

/* With AVX-512, and for `dot` AVX512_BF16. */
void cse_matmul_few_run(const cse_matmul_few *few);

#endif
