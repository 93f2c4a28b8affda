/* Tokens that are found in the text before it is cut into words, such as <|endoftext|>. At each
 * place the longest one counts. */
#ifndef CSE_DATALOADER_TOKENIZER_ADDED_TOKENS_H
#define CSE_DATALOADER_TOKENIZER_ADDED_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CSE_ADDED_TOKENS_MOST = 1 << 16 };

typedef struct cse_added_token {
    const char *content; /* borrowed */
    uint32_t size;
    int32_t id;
    bool takes_left, takes_right; /* white space on that side is part of it */
} cse_added_token;

/* Start from a zeroed struct. */
typedef struct cse_added_tokens {
    cse_added_token *tokens; /* sorted by content */
    int count, capacity;
    int first[257]; /* the tokens that begin with byte b are first[b] to first[b + 1] - 1 */
} cse_added_tokens;

void cse_added_tokens_clear(cse_added_tokens *added);
void cse_added_tokens_put(cse_added_tokens *added, const cse_added_token *token);
/* After the last put. */
void cse_added_tokens_sort(cse_added_tokens *added);

/* The first token from `from` on, and its range in the text with the white space it takes, which
 * begins at `from` or later; NULL: none. */
const cse_added_token *cse_added_tokens_next(const cse_added_tokens *added, const char *text,
                                             size_t size, size_t range[2]);

#endif
