/* A matrix of packed rows, as it lies in memory while a run computes with it: the blocks of a row
 * one behind the other, and each row filled up to whole words of 32 bits. A tensor of such a matrix
 * [rows, columns] is int32 [rows, words]. */
#ifndef CSE_TYPES_PACKED_ROWS_H
#define CSE_TYPES_PACKED_ROWS_H

#include "engine/base/types/packed/packed.h"

/* Words of a row of so many columns, which are whole blocks. */
int64_t cse_packed_row_words(const cse_packed_type *type, int64_t columns);
/* The columns of a row of so many words; the inverse of that. */
int64_t cse_packed_row_columns(const cse_packed_type *type, int64_t words);

/* Blocks of a row. */
typedef struct cse_packed_blocks {
    const cse_packed_type *type;
    const void *row;
    int64_t first, count;
} cse_packed_blocks;

/* Their values. */
void cse_packed_unpack_blocks(const cse_packed_blocks *blocks, float *values);

#endif
