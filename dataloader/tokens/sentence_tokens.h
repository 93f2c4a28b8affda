/* Sentences, or pairs of them, as encoders take them: pieces of words of BERT's vocabulary (Devlin
 * et al. 2019) behind [CLS], each sentence ended by [SEP]; or tokens of any tokenizer with the
 * special tokens of its template. */
#ifndef CSE_DATALOADER_TOKENS_SENTENCE_TOKENS_H
#define CSE_DATALOADER_TOKENS_SENTENCE_TOKENS_H

#include "csengine/input.h"
#include "dataloader/tokenizer/tokenizer.h"
#include "dataloader/tokens/word_pieces.h"

enum { CSE_SENTENCE_IDS, CSE_SENTENCE_MASK, CSE_SENTENCE_SEGMENTS, CSE_SENTENCE_LABELS };
enum { CSE_SENTENCE_TIME = 1 << 16 };

/* Start from a zeroed struct; `words` or `tokenizer` is filled, then cse_sentence_tokens_begin is
 * called. */
typedef struct cse_sentence_tokens {
    cse_tokenizer *tokenizer; /* NULL: words of BERT */
    cse_encoder *encoder;
    cse_token_ids *ids; /* [2] of the tokenizer */
    cse_word_file words;
    bool lowers;       /* texts */
    bool lowers_words; /* the vocabulary is in lower case, its [CLS] as well */
    bool keeps_accents;
    int64_t time; /* tokens of a sample */
    int32_t padding, mask_padding;
    cse_word_pieces pieces;
    int first, separator;
    int32_t *tokens[2]; /* [time] of each sentence */
} cse_sentence_tokens;

/* The streams input_ids, attention_mask, token_type_ids [time] and labels, int32. */
void cse_sentence_streams(cse_input *input, int64_t time);

/* Looks up the words that have a meaning of their own; `path`: of the vocabulary, for messages.
 * CSE_DATA: one is missing, or there is no room for the template of the tokenizer. */
cse_status cse_sentence_tokens_begin(cse_sentence_tokens *self, const char *path);
void cse_sentence_tokens_clear(cse_sentence_tokens *self);

/* Writes sample `place` of the streams but for its label; the second text may be NULL. Both are
 * changed. Where they are too long the end of the longer one is left out. CSE_DATA as
 * cse_encode. */
cse_status cse_sentence_tokens_put(const cse_sentence_tokens *self, char *const texts[2],
                                   void *const outputs[], int64_t place);

#endif
