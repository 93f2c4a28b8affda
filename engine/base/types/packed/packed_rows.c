/* Rows of blocks. */
#include "engine/base/types/packed/packed_rows.h"

enum { WORD_BYTES = 4 };

int64_t cse_packed_row_words(const cse_packed_type *type, int64_t columns)
{
    const int64_t bytes = columns / type->elements * (int64_t)type->bytes;
    return (bytes + WORD_BYTES - 1) / WORD_BYTES;
}

/* What fills up a row is less than a word, and a block is longer. */
int64_t cse_packed_row_columns(const cse_packed_type *type, int64_t words)
{
    return words * WORD_BYTES / (int64_t)type->bytes * type->elements;
}

void cse_packed_unpack_blocks(const cse_packed_blocks *blocks, float *values)
{
    const cse_packed_type *type = blocks->type;
    const unsigned char *at =
        (const unsigned char *)blocks->row + (size_t)blocks->first * type->bytes;
    type->unpack_blocks(at, blocks->count, values);
}
