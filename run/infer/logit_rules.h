/* What changes the logits of the next token by the tokens before it, before one is chosen:
 * repetition_penalty, no_repeat_ngram_size and min_new_tokens as in transformers, presence_penalty,
 * frequency_penalty and biases as in OpenAI's interface. */
#ifndef CSE_RUN_INFER_LOGIT_RULES_H
#define CSE_RUN_INFER_LOGIT_RULES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cse_token_bias {
    int32_t token;
    float bias; /* added to its logit */
} cse_token_bias;

/* Zeroes change nothing. */
typedef struct cse_logit_rules {
    /* Divides positive logits of tokens that came already, in the prompt as well, and multiplies
     * negative ones (Keskar et al. 2019); 0 and 1: nothing. */
    double repetition_penalty;
    /* Subtracted once, and for each time, from the logits of tokens that were generated. */
    double presence_penalty, frequency_penalty;
    int64_t no_repeat_ngram_size; /* so many tokens that came in this order come no second time */
    int64_t min_new_tokens;       /* no end token before so many were generated */
    const cse_token_bias *biases;
    int64_t bias_count;
} cse_logit_rules;

/* The tokens before. */
typedef struct cse_token_history {
    const int32_t *prompt; /* that the decoder saw; of a model with an encoder what begins a text */
    int64_t prompt_count;
    const int32_t *text; /* that was generated */
    int64_t count;
    const int32_t *ends; /* tokens that end a text */
    int64_t end_count;
} cse_token_history;

bool cse_logit_rules_are_empty(const cse_logit_rules *rules);
/* Changes `logits` [vocabulary]: biases first, then in the order above. */
void cse_logit_rules_apply(const cse_logit_rules *rules, const cse_token_history *history,
                           float *logits, int64_t vocabulary);

#endif
