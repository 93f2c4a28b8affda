/* The vocabulary of a BERT, from what Hugging Face's folder of one holds. */
#ifndef CSE_DATALOADER_TOKENS_BERT_WORDS_H
#define CSE_DATALOADER_TOKENS_BERT_WORDS_H

#include "dataloader/tokens/sentence_tokens.h"

/* Fills words and lowers. `path`: a list with a word a line (vocab.txt); a tokenizer.json with
 * pieces of words; or a folder with one of them. `lowers`: whether texts are taken in lower case, 0
 * or 1; -1: as tokenizer.json, or do_lower_case of tokenizer_config.json, says, else they are.
 * CSE_NO_INPUT, CSE_DATA. */
cse_status cse_bert_words_read(cse_sentence_tokens *tokens, const char *path, int lowers);

#endif
