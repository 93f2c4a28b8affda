/* The models of tokenizer.json by their names. */
#ifndef CSE_DATALOADER_TOKENIZER_WORD_MODELS_H
#define CSE_DATALOADER_TOKENIZER_WORD_MODELS_H

#include "dataloader/tokenizer/tokenizer_parts.h"

extern const cse_word_model cse_bpe_model, cse_unigram_model, cse_word_level_model,
    cse_word_piece_model;

/* By its type; NULL for none. */
const cse_word_model *cse_word_model_of(const json_t *model);
/* The model of the member "model" is read, with its vocabulary. CSE_DATA names what is not
 * accepted. */
cse_status cse_word_model_read(cse_tokenizer *tokenizer, const json_t *model);

#endif
