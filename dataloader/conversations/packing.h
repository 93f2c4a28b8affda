/* Which conversations share a row: best fit, the longest first (D. S. Johnson, "Near-optimal bin
 * packing algorithms", 1973), equal lengths in the order of the data. A function of the lengths
 * alone, so that every process has the same rows. */
#ifndef CSE_DATALOADER_CONVERSATIONS_PACKING_H
#define CSE_DATALOADER_CONVERSATIONS_PACKING_H

#include <stdint.h>

/* Start from a zeroed struct; release with cse_packing_clear. */
typedef struct cse_packing {
    int64_t rows;
    int64_t *first; /* [rows + 1]: where a row begins in `items` */
    int64_t
        *items; /* [count]: the conversations of the rows, each row's in the order of the data */
} cse_packing;

/* Rows of at most `most` tokens; each length is 1 to `most`. Rows are in the order of their first
 * conversations. */
void cse_packing_make(cse_packing *packing, const int32_t *lengths, int64_t count, int64_t most);
/* Each conversation has a row of its own. */
void cse_packing_make_single(cse_packing *packing, int64_t count);
void cse_packing_clear(cse_packing *packing);

#endif
