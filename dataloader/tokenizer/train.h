/* Training of a byte-level vocabulary: the most frequent pair of tokens becomes a token, again and
 * again (R. Sennrich et al., 2016).
 *
 * Words are cut by GPT-2's pattern. Ties go to the pair with the smaller numbers, so that the same
 * text gives the same vocabulary; it is the one that Hugging Face's BpeTrainer makes with the
 * alphabet of all bytes. */
#ifndef CSE_DATALOADER_TOKENIZER_TRAIN_H
#define CSE_DATALOADER_TOKENIZER_TRAIN_H

#include <stdint.h>

#include "dataloader/tokenizer/word_counts.h"
#include "engine/base/text.h"

typedef struct cse_tokenizer_trainer cse_tokenizer_trainer;

/* CSE_TRAIN_UNIGRAM: see train_unigram.h; its words are cut at spaces. */
typedef enum cse_trainer_kind { CSE_TRAIN_BPE, CSE_TRAIN_UNIGRAM } cse_trainer_kind;
cse_tokenizer_trainer *cse_tokenizer_trainer_new(cse_trainer_kind kind);
void cse_tokenizer_trainer_destroy(cse_tokenizer_trainer **trainer);

/* Counts the words of a text. CSE_DATA: more different words than CSE_TRAINER_MOST_WORDS. */
cse_status cse_tokenizer_trainer_add(cse_tokenizer_trainer *trainer, const char *text, size_t size);

/* Writes a tokenizer.json of `vocab_size` tokens, at least 257: <|endoftext|>, the bytes, and what
 * was merged; fewer where the text has no more pairs that occur `min_frequency` times. `tokens`,
 * when not NULL, is called with the tokens so far. */
typedef struct cse_trainer_wish {
    int64_t vocab_size, min_frequency;
    void (*tokens)(void *self, int64_t tokens);
    void *self;
} cse_trainer_wish;
cse_status cse_tokenizer_trainer_finish(cse_tokenizer_trainer *trainer,
                                        const cse_trainer_wish *wish, cse_text *json);

#endif
