/* One weight of theirs that makes queries, keys and values: which of its rows are whose. */
#ifndef CSE_WEIGHTS_MAP_FUSED_H
#define CSE_WEIGHTS_MAP_FUSED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CSE_FUSED_PARTS = 3 /* queries, keys, values */ };

typedef enum cse_fused_layout {
    CSE_FUSED_BLOCKS,   /* all queries, all keys, all values */
    CSE_FUSED_GROUPS,   /* for each head of keys: its heads of queries, itself, its values */
    CSE_FUSED_QUARTERS, /* for each quarter of the heads: its queries, values, keys */
} cse_fused_layout;

/* Rows of one weight; zeroed: it is not fused. */
typedef struct cse_fused {
    cse_fused_layout layout;
    int64_t heads, key_heads;
    int64_t head; /* rows of a head */
} cse_fused;

int64_t cse_fused_heads_of(const cse_fused *fused, int part);
/* Where a head of a part begins in theirs, counted in heads. */
int64_t cse_fused_place(const cse_fused *fused, int part, int64_t index);
/* Rows of a part, one after the other as in ours, from all rows of theirs; or back. */
void cse_fused_split(const cse_fused *fused, int part, size_t row_bytes,
                     const unsigned char *theirs, unsigned char *ours);
void cse_fused_join(const cse_fused *fused, int part, size_t row_bytes, const unsigned char *ours,
                    unsigned char *theirs);

#endif
