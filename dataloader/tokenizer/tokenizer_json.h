/* Reads tokenizer.json: the one file that Hugging Face's tokenizers writes. */
#ifndef CSE_DATALOADER_TOKENIZER_TOKENIZER_JSON_H
#define CSE_DATALOADER_TOKENIZER_TOKENIZER_JSON_H

#include "dataloader/tokenizer/tokenizer_parts.h"

enum { CSE_TOKENIZER_FILE_MOST_BYTES = 1 << 27 };

/* Fills a zeroed tokenizer; messages do not name the file. */
cse_status cse_tokenizer_json_read(const char *text, size_t size, cse_tokenizer *tokenizer);
/* From GPT-2's two files: vocab.json and merges.txt, which ModelZoo calls vocab.bpe. */
cse_status cse_tokenizer_pair_read(const char *vocab, size_t vocab_size, const char *merges,
                                   size_t merges_size, cse_tokenizer *tokenizer);

#endif
