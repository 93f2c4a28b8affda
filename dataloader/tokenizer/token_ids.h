/* Adding to the numbers of a text, and to the places where these are wanted. */
#ifndef CSE_DATALOADER_TOKENIZER_TOKEN_IDS_H
#define CSE_DATALOADER_TOKENIZER_TOKEN_IDS_H

#include "dataloader/tokenizer/tokenizer.h"

/* Room for `more` ids behind those that are there. */
void cse_token_ids_reserve(cse_token_ids *ids, size_t more);
/* Adds a token that bytes [begin, end) of the word became. */
void cse_token_ids_put(cse_token_ids *ids, int32_t id, size_t begin, size_t end);

#endif
