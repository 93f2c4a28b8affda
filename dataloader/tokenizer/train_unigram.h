/* Training of a vocabulary for Unigram (T. Kudo, "Subword regularization", 2018): of many pieces of
 * words those are kept without which the text would be least likely. */
#ifndef CSE_DATALOADER_TOKENIZER_TRAIN_UNIGRAM_H
#define CSE_DATALOADER_TOKENIZER_TRAIN_UNIGRAM_H

#include "dataloader/tokenizer/word_counts.h"
#include "engine/base/text.h"

/* The member "pre_tokenizer": words begin with what stands for a space, and other white space is
 * apart. */
extern const char cse_unigram_words[];

/* Writes a tokenizer.json of at most `vocab_size` tokens: <|endoftext|>, <unk>, the bytes, and
 * pieces. CSE_USAGE where the characters of the text alone are more. */
cse_status cse_train_unigram(const cse_word_counts *counts, int64_t vocab_size, cse_text *json);

#endif
