/* The tokens of a vocabulary, by number and by their bytes. */
#ifndef CSE_DATALOADER_TOKENIZER_VOCABULARY_H
#define CSE_DATALOADER_TOKENIZER_VOCABULARY_H

#include <stdint.h>

#include "engine/base/arena.h"

enum { CSE_VOCABULARY_MOST = 1 << 22, CSE_TOKEN_MOST_BYTES = 1 << 16 };

typedef struct cse_vocabulary_token {
    const char *bytes; /* NULL: no token has this number */
    uint32_t size;
    bool is_word;      /* words can become this token */
    bool is_bytes;     /* they were read from characters that stand for bytes */
    const char *shown; /* what it is decoded from */
    uint32_t shown_size;
} cse_vocabulary_token;

typedef enum cse_token_kind {
    CSE_TOKEN_OF_CHARACTERS,
    CSE_TOKEN_OF_BYTES, /* characters stand for bytes; where one does not, no word becomes it */
    CSE_TOKEN_ADDED     /* no word becomes it */
} cse_token_kind;

/* Start from a zeroed struct. */
typedef struct cse_vocabulary {
    cse_arena *arena;
    cse_vocabulary_token *tokens; /* [size] */
    int64_t size, capacity;
    int32_t *index; /* [slots] numbers of words by their bytes; -1: free */
    size_t slots;
} cse_vocabulary;

void cse_vocabulary_clear(cse_vocabulary *vocabulary);
/* Adds a token with the text of a file. CSE_DATA for a number that is taken by another content, and
 * beyond the limits. */
cse_status cse_vocabulary_put(cse_vocabulary *vocabulary, int64_t id, const char *text,
                              cse_token_kind kind);
/* Another text, from which the token is decoded; its characters may stand for bytes. */
void cse_vocabulary_show(cse_vocabulary *vocabulary, int64_t id, const char *text,
                         bool stands_for_bytes);
/* After the last put: words can be found. */
void cse_vocabulary_index(cse_vocabulary *vocabulary);
/* The number of the word, -1 where there is none. */
int32_t cse_vocabulary_find(const cse_vocabulary *vocabulary, const char *bytes, size_t size);
/* Likewise among all tokens, one after the other. */
int32_t cse_vocabulary_find_any(const cse_vocabulary *vocabulary, const char *bytes, size_t size);

#endif
