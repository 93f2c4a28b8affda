/* Tokens that are found in the text before it is cut into words, such as <|endoftext|>. At each
 * place the longest one counts. */
#ifndef CSE_DATALOADER_TOKENIZER_ADDED_TOKENS_H
#define CSE_DATALOADER_TOKENIZER_ADDED_TOKENS_H

#include <stddef.h>
#include <stdint.h>

#include "csengine/status.h"

enum { CSE_ADDED_TOKENS_MOST = 1 << 16 };

typedef struct cse_added_token {
    const char *name;    /* borrowed */
    const char *content; /* borrowed; as it is found in a text, normalized */
    uint32_t size;
    int32_t id;
    bool takes_left, takes_right; /* white space on that side is part of it */
    bool is_word;                 /* it is found between characters that are no part of a word */
} cse_added_token;

/* Start from a zeroed struct. */
typedef struct cse_added_tokens {
    cse_added_token *tokens; /* sorted by content */
    int count, capacity;
    int first[257]; /* the tokens that begin with byte b are first[b] to first[b + 1] - 1 */
} cse_added_tokens;

void cse_added_tokens_clear(cse_added_tokens *added);
void cse_added_tokens_put(cse_added_tokens *added, const cse_added_token *token);
/* After the last put. CSE_DATA for one without content, and for two with the same. */
cse_status cse_added_tokens_sort(cse_added_tokens *added);

/* A walk over the tokens of a text that was checked to be UTF-8; set `text` and `size`. */
typedef struct cse_added_search {
    const char *text;
    size_t size;
    size_t from;    /* where the next one may begin */
    size_t covered; /* up to here the text belongs to tokens or to the pieces before them */
} cse_added_search;

/* The next token and its range with the white space it takes; NULL: none. A range can begin before
 * `covered`: another token took white space that is this token's content, too. */
const cse_added_token *cse_added_tokens_next(const cse_added_tokens *added,
                                             cse_added_search *search, size_t range[2]);

#endif
