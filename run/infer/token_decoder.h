/* Decodes with a causal language model: the tokens of a prompt are read at once, then one token
 * after another, while the keys and values of each attention are kept (the KV cache).
 *
 * In float32 and bfloat16 the logits of a prompt's last token have the bits of an evaluation's
 * forward pass, and so have those of later tokens where nothing but the causal mask hides keys:
 * their attention reads keys and values in pages (paged_attention). With windows, caps and biases
 * of positions, and in other formats, they agree within the rounding of the format.
 *
 * Several sequences go on together: one pass over a token of each reads the weights once. What is
 * computed of a sequence depends on nothing else, so that its bits are those of a decoder of its
 * own.
 *
 * Passes are compiled when they are first needed: over prompts of several lengths, and over tokens
 * of fewer sequences where others rest. All read the same weights, keys and values. */
#ifndef CSE_RUN_INFER_TOKEN_DECODER_H
#define CSE_RUN_INFER_TOKEN_DECODER_H

#include "csengine/train.h"

typedef struct cse_token_decoder cse_token_decoder;

typedef struct cse_token_decoder_sizes {
    int64_t prompt_tokens; /* of the longest prompt */
    int64_t max_tokens;    /* with what follows */
    /* Tokens that a sequence is to have in the end, at most max_tokens: positions that are scaled
     * by the length of a sequence are so from its first token on. */
    int64_t longest;
    int64_t sequences; /* that go on together; 0 or 1: one */
    /* Of all sequences together, at most 16, which take their places by cse_token_decoder_take, or
     * one where the model's attention is not in pages; 0: each has place for max_tokens. */
    int64_t pool_tokens;
    /* Where prompts may be longer than those that are compiled for at once; 0: they are not. */
    int64_t most_prompt_tokens;
} cse_token_decoder_sizes;

/* Compiles passes, or finds them in the cache. Fails with CSE_SHAPE where the model does not
 * take such a sequence, and with CSE_USAGE where it is not causal. The caller destroys it before
 * the session ends. */
cse_status cse_token_decoder_new(cse_model *model, const cse_token_decoder_sizes *sizes,
                                 cse_token_decoder **decoder);
void cse_token_decoder_destroy(cse_token_decoder **decoder);

/* Entries of the vocabulary. */
int64_t cse_token_decoder_vocabulary(const cse_token_decoder *decoder);

/* Begins a sequence. Fails with CSE_DATA for a token outside of the vocabulary, an empty prompt, or
 * one that is too long. */
cse_status cse_token_decoder_begin(cse_token_decoder *decoder, const int32_t *prompt,
                                   int64_t count);
/* The same of sequence `sequence`, counted from 0; the calls that name none mean sequence 0. */
cse_status cse_token_decoder_begin_at(cse_token_decoder *decoder, int64_t sequence,
                                      const int32_t *prompt, int64_t count);
/* One more token. Fails with CSE_USAGE where the sequence is full. */
cse_status cse_token_decoder_append(cse_token_decoder *decoder, int32_t token);

/* Before a sequence begins: place for so many tokens. False: there is not so much left. Without
 * pool_tokens there always is. */
bool cse_token_decoder_take(cse_token_decoder *decoder, int64_t sequence, int64_t tokens);
/* The sequence is over: its place is free. */
void cse_token_decoder_leave(cse_token_decoder *decoder, int64_t sequence);

/* In place of a token: the sequence has none in this pass. */
enum { CSE_TOKEN_RESTS = -1 };
/* One more token of each sequence, in one pass. */
cse_status cse_token_decoder_append_each(cse_token_decoder *decoder, const int32_t tokens[]);
/* Sequence `to` becomes a copy of `from`. */
void cse_token_decoder_copy(cse_token_decoder *decoder, int64_t from, int64_t to);

/* As many as were asked for, or 1 where the model's attentions have masks, or with pool_tokens are
 * not in pages. */
int64_t cse_token_decoder_sequences(const cse_token_decoder *decoder);

/* Logits of the token that follows, float32 [vocabulary]; until the next call. */
const float *cse_token_decoder_logits(const cse_token_decoder *decoder);
const float *cse_token_decoder_logits_of(const cse_token_decoder *decoder, int64_t sequence);

/* Tokens of the sequence so far. */
int64_t cse_token_decoder_count(const cse_token_decoder *decoder);
/* What is kept of one token: so many floats. */
int64_t cse_token_decoder_kept_floats(const cse_token_decoder *decoder);
/* Copies what is kept of the sequence, count * kept_floats, and puts it back: the next token that
 * is appended then follows `count` tokens, those that were there when it was saved. */
void cse_token_decoder_save(const cse_token_decoder *decoder, float *kept);
void cse_token_decoder_restore(cse_token_decoder *decoder, const float *kept, int64_t count);
/* Back to the first `count` tokens; logits are there after the next append. */
void cse_token_decoder_cut(cse_token_decoder *decoder, int64_t count);

#endif
