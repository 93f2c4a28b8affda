/* Few rows times a packed matrix, transposed: each of its rows is read once, unpacked in the L1
 * cache and multiplied from there, in vectors of several of them. The order of the sums is `chain`
 * of matmul_tiles.h. */
#ifndef CSE_KERNELS_PACKED_FEW_ROWS_H
#define CSE_KERNELS_PACKED_FEW_ROWS_H

#include "engine/base/types/packed/packed_rows.h"

enum { CSE_PACKED_FEW_ROWS = 8 };

typedef struct cse_few_rows {
    const cse_packed_type *type;
    const int32_t *weight;      /* [outs][row_words] */
    int64_t columns, row_words; /* of the matrix: the depth of the sums, and words of a row */
    int64_t first, end;         /* rows of the matrix, which are columns of the result */
    const float *x;             /* [rows][columns] */
    int64_t rows;               /* 1 to CSE_PACKED_FEW_ROWS */
    float *to;                  /* [rows][stride] */
    int64_t stride;
    const float *bias; /* by row of the matrix, or NULL */
    bool relu;
} cse_few_rows;

/* The same with AVX-512 for types whose numbers become floats in registers; false: it is none of
 * these (packed_few_rows_words.c). */
bool cse_packed_few_words(const cse_few_rows *few);
bool cse_packed_few_k(const cse_few_rows *few);      /* packed_few_rows_k.c */
bool cse_packed_few_levels(const cse_few_rows *few); /* packed_few_rows_levels.c */
void cse_packed_few_rows_avx512(const cse_few_rows *few);
void cse_packed_few_rows_avx2(const cse_few_rows *few);

#endif
