/* How likely a language model finds sequences of any length. A pass is compiled for the longest
 * sequence that the model takes, and another one for each shorter power of two that is needed. */
#ifndef CSE_RUN_INFER_LIKELIHOOD_H
#define CSE_RUN_INFER_LIKELIHOOD_H

#include "csengine/train.h"

typedef struct cse_likelihoods cse_likelihoods;

/* Compiles nothing yet. The caller destroys it before the session ends. */
cse_likelihoods *cse_likelihoods_new(cse_model *model);
void cse_likelihoods_destroy(cse_likelihoods **likelihoods);

/* Tokens of the longest sequence, by max_position_embeddings; 1024 for a model without it. */
int64_t cse_likelihoods_longest(const cse_likelihoods *likelihoods);

/* The sum of the natural log probabilities of tokens from `from` on; of those that do not fit
 * before it the first are left out. */
cse_status cse_log_likelihood(cse_likelihoods *likelihoods, const int32_t *tokens, int64_t count,
                              int64_t from, double *sum);

/* The same of one token more: the last one is no input, and needs no place of the model. */
typedef struct cse_continuation_score {
    double log_likelihood;
    bool greedy; /* each token is the most likely one at its place */
} cse_continuation_score;
cse_status cse_continuation_likelihood(cse_likelihoods *likelihoods, const int32_t *tokens,
                                       int64_t count, int64_t from, cse_continuation_score *score);

/* The same of all tokens but the first: those of a sequence that is too long are cut into parts,
 * each of which begins with the last token of the one before. */
cse_status cse_log_likelihood_of_all(cse_likelihoods *likelihoods, const int32_t *tokens,
                                     int64_t count, double *sum);

#endif
