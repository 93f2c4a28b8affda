/* Where each head of queries, keys and values lies among the rows of one weight of theirs. */
#include "engine/formats/weights/map_fused.h"

#include <string.h>

int64_t cse_fused_heads_of(const cse_fused *fused, int part)
{
    return part == 0 ? fused->heads : fused->key_heads;
}

int64_t cse_fused_place(const cse_fused *fused, int part, int64_t index)
{
    const int64_t queries = fused->heads / fused->key_heads; /* of a group */
    const int64_t quarter = fused->heads / 4;
    if (fused->layout == CSE_FUSED_QUARTERS)
        return index / quarter * 3 * quarter + index % quarter + (3 - part) % 3 * quarter;
    if (fused->layout == CSE_FUSED_BLOCKS)
        return index + (part > 0 ? fused->heads + (part - 1) * fused->key_heads : 0);
    return part == 0 ? index / queries * (queries + 2) + index % queries
                     : index * (queries + 2) + queries + part - 1;
}

void cse_fused_split(const cse_fused *fused, int part, size_t row_bytes,
                     const unsigned char *theirs, unsigned char *ours)
{
    const size_t bytes = (size_t)fused->head * row_bytes;
    for (int64_t i = 0; i < cse_fused_heads_of(fused, part); i++)
        memcpy(ours + (size_t)i * bytes, theirs + (size_t)cse_fused_place(fused, part, i) * bytes,
               bytes);
}

void cse_fused_join(const cse_fused *fused, int part, size_t row_bytes, const unsigned char *ours,
                    unsigned char *theirs)
{
    const size_t bytes = (size_t)fused->head * row_bytes;
    for (int64_t i = 0; i < cse_fused_heads_of(fused, part); i++)
        memcpy(theirs + (size_t)cse_fused_place(fused, part, i) * bytes, ours + (size_t)i * bytes,
               bytes);
}
