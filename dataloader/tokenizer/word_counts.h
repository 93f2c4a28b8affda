/* The words of a text and how often each occurs, what vocabularies are trained on. */
#ifndef CSE_DATALOADER_TOKENIZER_WORD_COUNTS_H
#define CSE_DATALOADER_TOKENIZER_WORD_COUNTS_H

#include <stdint.h>

#include "engine/base/arena.h"

enum { CSE_TRAINER_MOST_WORDS = 1 << 24 };

typedef struct cse_counted_word {
    char *bytes; /* of the arena */
    int32_t *tokens;
    int64_t count;
    int32_t size, length; /* bytes; tokens of it now */
} cse_counted_word;

/* Start from a zeroed struct. */
typedef struct cse_word_counts {
    cse_arena *arena;
    cse_counted_word *words;
    size_t count, capacity;
    uint32_t *index; /* [slots]: 1 + the word; 0: free */
    size_t slots;
} cse_word_counts;

void cse_word_counts_clear(cse_word_counts *counts);
/* For a cse_word_sink. CSE_DATA: more different words than CSE_TRAINER_MOST_WORDS. */
cse_status cse_word_counts_add(void *self, const char *bytes, size_t size);

#endif
