/* Chooses the next token from logits. */
#ifndef CSE_RUN_INFER_SAMPLER_H
#define CSE_RUN_INFER_SAMPLER_H

#include <stdint.h>

typedef struct cse_sampler cse_sampler;

/* Applied in this order, as in transformers: temperature, top_k, top_p, min_p. */
typedef struct cse_sampling {
    double temperature; /* divides the logits; 0: the most likely token, the first of equal ones */
    int64_t top_k; /* only so many of the most likely tokens, and those equal to the last; 0: all */
    double top_p;  /* only the fewest most likely tokens whose probabilities reach this; 1: all */
    double min_p; /* only tokens that are at least so likely, relative to the most likely; 0: all */
    uint64_t seed;
} cse_sampling;

cse_sampler *cse_sampler_new(const cse_sampling *sampling, int64_t vocabulary);
void cse_sampler_destroy(cse_sampler **sampler);

/* The token at `position` of sequence `sequence`: a pure function of these, the seed and the logits
 * [vocabulary]. `probability`, unless NULL: that of the token before tokens were left out. */
int32_t cse_sampler_draw(cse_sampler *sampler, const float *logits, uint32_t sequence,
                         int64_t position, double *probability);

/* What turns logits [vocabulary] into natural log probabilities; one pass over all of them. */
typedef struct cse_log_normalizer {
    double largest, log_sum; /* of the logits; of e^(logit - largest) */
} cse_log_normalizer;
cse_log_normalizer cse_log_normalizer_of(const float *logits, int64_t vocabulary);
double cse_normalized_logit(const cse_log_normalizer *normalizer, float logit);

/* The natural log probability of one token. */
double cse_log_probability(const float *logits, int64_t vocabulary, int32_t token);

#endif
