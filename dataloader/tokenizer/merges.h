/* The rules by which pairs of tokens become one, and their use on a word: of all pairs in it the
 * one of the earliest rule is merged, the leftmost of equals first, until no rule applies. */
#ifndef CSE_DATALOADER_TOKENIZER_MERGES_H
#define CSE_DATALOADER_TOKENIZER_MERGES_H

#include <stddef.h>
#include <stdint.h>

typedef struct cse_merges {
    uint64_t *pairs; /* [slots]: left << 32 | right, with 1 added; 0: free */
    uint64_t *rules; /* [slots]: rank << 32 | token */
    size_t slots, count;
} cse_merges;

/* Room for `count` rules. */
void cse_merges_make(cse_merges *merges, size_t count);
void cse_merges_clear(cse_merges *merges);
/* A pair that is there gets the new rule. */
void cse_merges_put(cse_merges *merges, int32_t left, int32_t right, uint64_t rule);
/* rank << 32 | token; UINT64_MAX: no rule. */
uint64_t cse_merges_get(const cse_merges *merges, int32_t left, int32_t right);

/* Merges `count` tokens in place, and adds up their `lengths` where these are not NULL; returns how
 * many are left. Time grows as count * log(count). */
size_t cse_merges_apply(const cse_merges *merges, int32_t *tokens, uint32_t *lengths, size_t count);

#endif
