/* The tokens of a vocabulary, by number and by their bytes. */
#ifndef CSE_DATALOADER_TOKENIZER_VOCABULARY_H
#define CSE_DATALOADER_TOKENIZER_VOCABULARY_H

#include <stdint.h>

#include "engine/base/arena.h"

enum { CSE_VOCABULARY_MOST = 1 << 22, CSE_TOKEN_MOST_BYTES = 1 << 16 };

typedef struct cse_vocabulary_token {
    const char *bytes; /* NULL: no token has this number */
    uint32_t size;
    bool is_word; /* its characters stand for bytes: words can become this token */
} cse_vocabulary_token;

/* Start from a zeroed struct. */
typedef struct cse_vocabulary {
    cse_arena *arena;
    cse_vocabulary_token *tokens; /* [size] */
    int64_t size, capacity;
    int32_t *index; /* [slots] numbers of words by their bytes; -1: free */
    size_t slots;
} cse_vocabulary;

void cse_vocabulary_clear(cse_vocabulary *vocabulary);
/* Adds a token; the text is that of a file, or plain bytes where `plain`. CSE_DATA for a number
 * that is taken by another content, and beyond the limits. */
cse_status cse_vocabulary_put(cse_vocabulary *vocabulary, int64_t id, const char *text, bool plain);
/* After the last put: words can be found. */
void cse_vocabulary_index(cse_vocabulary *vocabulary);
/* The number of the word, -1 where there is none. */
int32_t cse_vocabulary_find(const cse_vocabulary *vocabulary, const char *bytes, size_t size);

#endif
