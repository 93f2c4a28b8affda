/* What is known of a text that is generated: how it is written, after which prompt, who listens to
 * it, and how it ended. */
#ifndef CSE_RUN_INFER_GENERATED_TEXT_H
#define CSE_RUN_INFER_GENERATED_TEXT_H

#include "run/infer/logit_rules.h"
#include "run/infer/sampler.h"
#include "run/infer/text_codec.h"
#include "run/infer/text_decoder.h"

typedef struct cse_generation_options {
    cse_model *model;
    cse_text_codec *codec;
    int64_t longest_prompt, max_new_tokens; /* of all texts */
    bool ends_when_full; /* where the model takes no more tokens, without a failure */
    int64_t together;    /* texts that are to be written at a time; 0: one */
    /* For texts that come and go: those of cse_text_decoder_options, in place of the lengths. */
    int64_t context, pool_tokens;
} cse_generation_options;

/* How one text is written; what it names is borrowed. */
typedef struct cse_generation_settings {
    cse_sampling sampling;
    cse_logit_rules rules;
    int64_t max_new_tokens;
    const int32_t *ends; /* tokens that end a text */
    int64_t end_count;
    const char *const *stop_words; /* end a text where they appear, and are no part of it */
    int stop_count;
} cse_generation_settings;

/* One more token of a text. */
typedef struct cse_generated_token {
    int32_t token;
    const float *logits; /* [vocabulary], before anything was done to them */
    int64_t vocabulary;
    const char *bytes; /* what it stands for */
    size_t byte_count;
    const char *shown; /* what is known of the text now: whole characters, no part of a stop word */
    size_t shown_count;
} cse_generated_token;

/* Returns whether to go on. */
typedef bool cse_generation_listener(void *self, const cse_generated_token *token);

typedef enum cse_generation_end {
    CSE_GENERATION_FULL, /* max_new_tokens, or the model takes no more */
    CSE_GENERATION_END_TOKEN,
    CSE_GENERATION_STOP_WORD,
    CSE_GENERATION_LEFT, /* the listener */
} cse_generation_end;

typedef struct cse_generation cse_generation;

/* What passes took so far: prompts that were read by one pass each, and passes over a token of each
 * text. Beside the time that went by stands that of the processors. The first pass of each kind
 * prepares weights for all that follow (casts, packed copies), and is told apart. */
typedef struct cse_generation_times {
    int64_t prompts, prompt_tokens, prompt_ns, prompt_processor_ns;
    int64_t passes, tokens, pass_ns, pass_processor_ns;
    int64_t first_prompt_ns, first_pass_ns; /* 0: there was none */
} cse_generation_times;

typedef struct cse_generation_request {
    const cse_generation_settings *settings;
    const int32_t *prompt; /* at least one token */
    int64_t count;
    uint32_t number; /* of the text among those of this seed */
    /* Begins with the tokens of the text before, whose keys and values are kept, and appends the
     * others one by one. Otherwise the prompt is read by one pass. */
    bool goes_on;
    cse_generation_listener *listener;
    void *self;
} cse_generation_request;

typedef struct cse_generation_result {
    cse_generation_end end;
    int stop_word;  /* the one that ended it; -1 */
    int64_t tokens; /* that were generated, without one that ended the text */
    int64_t reused; /* tokens of the prompt whose keys and values were there */
    cse_text rest;  /* shown after the last token; cse_text_clear() */
} cse_generation_result;

#endif
