/* Beam search: several beginnings of a text, the running beams, are kept, those with the largest
 * sum of log probabilities, and each is continued by one token at a time. Which are kept, when the
 * search ends and what is returned is as in transformers' generate with num_beams and
 * do_sample=False. */
#ifndef CSE_RUN_INFER_BEAM_SEARCH_H
#define CSE_RUN_INFER_BEAM_SEARCH_H

#include "run/infer/logit_rules.h"
#include "run/infer/text_decoder.h"

/* When a search ends besides at max_new_tokens. */
typedef enum cse_early_stopping {
    CSE_STOPPING_LIKELY, /* no running beam beats the texts that ended, at its present length */
    CSE_STOPPING_FIRST,  /* num_beams texts have ended */
    CSE_STOPPING_NEVER,  /* no running beam could beat them at any length */
} cse_early_stopping;

typedef struct cse_beam_options {
    int64_t num_beams;
    double length_penalty; /* a sum is divided by the number of tokens to this power */
    cse_early_stopping early_stopping;
} cse_beam_options;

typedef struct cse_beam_request {
    cse_beam_options options;
    cse_logit_rules rules;
    const int32_t *prompt;
    int64_t prompt_count, max_new_tokens;
    const int32_t *ends; /* tokens that end a text */
    int64_t end_count;
    bool (*has_ended)(void *self, const int32_t *tokens, int64_t count); /* NULL: by tokens alone */
    bool (*stop_requested)(void);                                        /* NULL: never */
    void *self;
} cse_beam_request;

typedef struct cse_beam_text {
    int32_t *tokens; /* with the one that ended it; free() */
    int64_t count;
    double score;
} cse_beam_text;

/* `texts` [num_beams], the best first, *count of them. CSE_INTERRUPTED where a stop was requested;
 * CSE_USAGE where the vocabulary has too few tokens for so many beams. */
cse_status cse_beam_search(cse_text_decoder *decoder, const cse_beam_request *request,
                           cse_beam_text *texts, int64_t *count);

#endif
