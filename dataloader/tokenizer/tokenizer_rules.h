/* Filling in the vocabulary and the rules of a tokenizer from JSON. */
#ifndef CSE_DATALOADER_TOKENIZER_TOKENIZER_RULES_H
#define CSE_DATALOADER_TOKENIZER_TOKENIZER_RULES_H

#include <jansson.h>

#include "dataloader/tokenizer/tokenizer_parts.h"

/* JSON of at most 16 levels; the caller releases it. `what` begins the message. */
cse_status cse_tokenizer_parse(const char *text, size_t size, const char *what, json_t **json);
/* {"token": number, ...} */
cse_status cse_tokenizer_take_vocabulary(cse_tokenizer *tokenizer, const json_t *vocab);
/* Rule number `rank`: the two texts become the token that is both together. */
cse_status cse_tokenizer_take_merge(cse_tokenizer *tokenizer, const json_t *vocab, size_t rank,
                                    const char *const pair[2]);
/* "left right", as lines of merges.txt have them. */
cse_status cse_tokenizer_take_merge_text(cse_tokenizer *tokenizer, const json_t *vocab, size_t rank,
                                         const char *text);
/* After vocabulary, rules and added tokens: what encoding looks up. */
cse_status cse_tokenizer_finish(cse_tokenizer *tokenizer);

#endif
