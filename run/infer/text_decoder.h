/* What goes from token to token: a decoder of one text (token_decoder.h), or of an encoder's model
 * (pair_decoder.h), compiled for the lengths that are asked for. */
#ifndef CSE_RUN_INFER_TEXT_DECODER_H
#define CSE_RUN_INFER_TEXT_DECODER_H

#include "csengine/train.h"

typedef struct cse_text_decoder cse_text_decoder;

typedef struct cse_text_decoder_options {
    cse_model *model;
    int64_t longest_prompt; /* in tokens */
    int64_t max_new_tokens;
    bool ends_when_full; /* where the model takes no more tokens, without a failure */
    int64_t sequences;   /* texts that are written together; 0 or 1: one */
    /* Texts come and go, of any prompts up to so many tokens with what is written behind them, in
     * place of longest_prompt and max_new_tokens; they take their places among so many tokens. 0:
     * the texts are known. */
    int64_t context, pool_tokens;
} cse_text_decoder_options;

/* Compiles what the lengths need. CSE_DATA where the model takes no sequence of that length. The
 * caller destroys it before the session ends. */
cse_status cse_text_decoder_new(const cse_text_decoder_options *options,
                                cse_text_decoder **decoder);
void cse_text_decoder_destroy(cse_text_decoder **decoder);

int64_t cse_text_decoder_vocabulary(const cse_text_decoder *decoder);
/* The most tokens that may follow a prompt of so many, by the model alone. */
int64_t cse_text_decoder_room(const cse_text_decoder *decoder, int64_t prompt_tokens);
/* The token that begins a text of its own, which the prompt is no part of; -1: the text goes on
 * from the prompt. */
int32_t cse_text_decoder_start(const cse_text_decoder *decoder);

/* As those of token_decoder.h. */
cse_status cse_text_decoder_begin(cse_text_decoder *decoder, const int32_t *prompt, int64_t count);
cse_status cse_text_decoder_append(cse_text_decoder *decoder, int32_t token);
const float *cse_text_decoder_logits(const cse_text_decoder *decoder);
/* Likewise; a model with an encoder has one sequence. */
int64_t cse_text_decoder_sequences(const cse_text_decoder *decoder);
cse_status cse_text_decoder_begin_at(cse_text_decoder *decoder, int64_t sequence,
                                     const int32_t *prompt, int64_t count);
cse_status cse_text_decoder_append_each(cse_text_decoder *decoder, const int32_t tokens[]);
bool cse_text_decoder_take(cse_text_decoder *decoder, int64_t sequence, int64_t tokens);
void cse_text_decoder_leave(cse_text_decoder *decoder, int64_t sequence);
void cse_text_decoder_copy(cse_text_decoder *decoder, int64_t from, int64_t to);
const float *cse_text_decoder_logits_of(const cse_text_decoder *decoder, int64_t sequence);
int64_t cse_text_decoder_count(const cse_text_decoder *decoder);
int64_t cse_text_decoder_kept_floats(const cse_text_decoder *decoder);
void cse_text_decoder_save(const cse_text_decoder *decoder, float *kept);
void cse_text_decoder_restore(cse_text_decoder *decoder, const float *kept, int64_t count);
/* Of a text that goes on from its prompt alone. */
void cse_text_decoder_cut(cse_text_decoder *decoder, int64_t count);

#endif
