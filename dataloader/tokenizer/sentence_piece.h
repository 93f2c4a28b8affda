/* Reads tokenizer.model: what SentencePiece writes, with a vocabulary of BPE or Unigram. */
#ifndef CSE_DATALOADER_TOKENIZER_SENTENCE_PIECE_H
#define CSE_DATALOADER_TOKENIZER_SENTENCE_PIECE_H

#include "dataloader/tokenizer/tokenizer_parts.h"

/* Fills a zeroed tokenizer; messages do not name the file. */
cse_status cse_sentence_piece_read(const void *bytes, size_t size, cse_tokenizer *tokenizer);

#endif
