/* Generates text: what a language model says after a prompt. */
#ifndef CSE_RUN_INFER_GENERATION_H
#define CSE_RUN_INFER_GENERATION_H

#include "run/infer/sampler.h"
#include "run/infer/text_codec.h"
#include "run/infer/token_decoder.h"

typedef struct cse_generation_options {
    cse_model *model;
    cse_text_codec *codec;
    cse_sampling sampling;
    int64_t max_new_tokens;
    bool ends_when_full;    /* where the model takes no more tokens, without a failure */
    int64_t longest_prompt; /* in tokens */
    int32_t end_token;      /* ends a text; -1: none */
} cse_generation_options;

/* One more token of a text: its bytes, and its probability under the model. */
typedef struct cse_generated_token {
    int32_t token;
    double probability;
    const char *bytes;
    size_t byte_count;
} cse_generated_token;

/* Returns whether to go on. */
typedef bool cse_generation_listener(void *self, const cse_generated_token *token);

typedef struct cse_generation cse_generation;

/* Compiles what the lengths need. Fails where the model takes no sequence of that length. The codec
 * and the model stay the caller's. */
cse_status cse_generation_new(const cse_generation_options *options, cse_generation **generation);
void cse_generation_destroy(cse_generation **generation);

typedef struct cse_generation_request {
    const int32_t *prompt; /* at least one token */
    int64_t count;
    uint32_t number; /* of the text among those of this seed */
    cse_generation_listener *listener;
    void *self;
} cse_generation_request;

/* Texts of the same prompt, number and seed are the same, whatever was generated before. */
cse_status cse_generate(cse_generation *generation, const cse_generation_request *request);

#endif
