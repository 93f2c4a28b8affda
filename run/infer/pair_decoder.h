/* Decodes with a model of an encoder and a decoder: the encoder reads a prompt once, then the
 * decoder writes one token after another, while keys and values are kept: those of its own tokens,
 * and those that its attentions made of the encoder's output. token_decoder.h is its like for
 * models of one text. */
#ifndef CSE_RUN_INFER_PAIR_DECODER_H
#define CSE_RUN_INFER_PAIR_DECODER_H

#include "csengine/train.h"

typedef struct cse_pair_decoder cse_pair_decoder;

/* Whether a model takes two texts: it has the setting decoder_start_token_id. */
bool cse_model_takes_pairs(const cse_model *model);
/* The token that begins its texts. */
int32_t cse_pair_start_token(const cse_model *model);
/* Its setting eos_token_id; -1: none. */
int32_t cse_pair_end_token(const cse_model *model);
/* The most tokens of the encoder and of the decoder; 0: any. */
int64_t cse_longest_of_pair(const cse_model *model, bool of_decoder);

/* For prompts of up to `prompt_tokens` and texts of up to `max_tokens`, that which begins them
 * included. The caller destroys it before the session ends. */
cse_status cse_pair_decoder_new(cse_model *model, int64_t prompt_tokens, int64_t max_tokens,
                                cse_pair_decoder **decoder);
void cse_pair_decoder_destroy(cse_pair_decoder **decoder);

int64_t cse_pair_decoder_vocabulary(const cse_pair_decoder *decoder);

/* Begins a text for a prompt of `count` tokens. CSE_DATA for a prompt that does not fit. */
cse_status cse_pair_decoder_begin(cse_pair_decoder *decoder, const int32_t *prompt, int64_t count);
/* One more token of the text. CSE_USAGE where it is full. */
cse_status cse_pair_decoder_append(cse_pair_decoder *decoder, int32_t token);
/* Logits of the token that follows, float32 [vocabulary]; until the next call. */
const float *cse_pair_decoder_logits(const cse_pair_decoder *decoder);

/* As those of token_decoder.h, of the text; what the encoder made of the prompt stays. */
int64_t cse_pair_decoder_count(const cse_pair_decoder *decoder);
int64_t cse_pair_decoder_kept_floats(const cse_pair_decoder *decoder);
void cse_pair_decoder_save(const cse_pair_decoder *decoder, float *kept);
void cse_pair_decoder_restore(cse_pair_decoder *decoder, const float *kept, int64_t count);

#endif
