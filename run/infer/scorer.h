/* How likely a language model finds given tokens. */
#ifndef CSE_RUN_INFER_SCORER_H
#define CSE_RUN_INFER_SCORER_H

#include "csengine/train.h"

typedef struct cse_scorer cse_scorer;

/* For sequences of up to `tokens`, at least 2. One pass gives the likelihood of all tokens but the
 * first; it is the model's evaluation forward pass. The caller destroys it before the session ends.
 */
cse_status cse_scorer_new(cse_model *model, int64_t tokens, cse_scorer **scorer);
void cse_scorer_destroy(cse_scorer **scorer);
int64_t cse_scorer_longest(const cse_scorer *scorer);

/* What was found of a token, given those before it. */
typedef struct cse_token_score {
    double log_probability; /* natural */
    bool is_most_likely;
} cse_token_score;

/* scores[i] is of tokens[i + 1], for i < count - 1. */
cse_status cse_scorer_run(cse_scorer *scorer, const int32_t *tokens, int64_t count,
                          cse_token_score *scores);

#endif
