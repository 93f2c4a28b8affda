/* Scorers by length, compiled when they are asked for. */
#include "run/infer/likelihood.h"

#include <stdlib.h>

#include "engine/base/arena.h"
#include "run/infer/language_model.h"
#include "run/infer/scorer.h"

enum { MAX_LENGTHS = 32, DEFAULT_LONGEST = 1024 };

struct cse_likelihoods {
    cse_model *model;
    int64_t longest;
    cse_scorer *scorers[MAX_LENGTHS];
};

cse_likelihoods *cse_likelihoods_new(cse_model *model)
{
    const int64_t longest = cse_longest_sequence(model);
    cse_likelihoods *likelihoods = cse_calloc(1, sizeof *likelihoods);
    likelihoods->model = model;
    likelihoods->longest = longest > 0 ? longest : DEFAULT_LONGEST;
    return likelihoods;
}

void cse_likelihoods_destroy(cse_likelihoods **likelihoods)
{
    for (int i = 0; *likelihoods != NULL && i < MAX_LENGTHS; i++)
        cse_scorer_destroy(&(*likelihoods)->scorers[i]);
    free(*likelihoods);
    *likelihoods = NULL;
}

int64_t cse_likelihoods_longest(const cse_likelihoods *likelihoods)
{
    return likelihoods->longest;
}

/* The smallest pass for so many tokens. */
static cse_status scorer_for(cse_likelihoods *l, int64_t tokens, int64_t longest,
                             cse_scorer **scorer)
{
    const int64_t length = cse_compiled_length(tokens, longest);
    int free_place = 0;
    for (; l->scorers[free_place] != NULL; free_place++)
        if (cse_scorer_longest(l->scorers[free_place]) == length) {
            *scorer = l->scorers[free_place];
            return CSE_OK;
        }
    CSE_TRY(cse_scorer_new(l->model, length, scorer));
    l->scorers[free_place] = *scorer;
    return CSE_OK;
}

typedef struct token_range {
    const int32_t *tokens;
    int64_t count, from;
} token_range;

/* Of a pass of at most `longest` tokens. */
static cse_status score(cse_likelihoods *l, token_range range, int64_t longest,
                        cse_continuation_score *found)
{
    cse_scorer *scorer = NULL;
    *found = (cse_continuation_score){ .greedy = true };
    if (range.count > longest) {
        range.tokens += range.count - longest;
        range.from -= range.count - longest;
        range.count = longest;
    }
    CSE_TRY(scorer_for(l, range.count, longest, &scorer));
    cse_token_score *scores = cse_calloc((size_t)range.count, sizeof *scores);
    cse_status status = cse_scorer_run(scorer, range.tokens, range.count, scores);
    for (int64_t i = range.from > 1 ? range.from : 1; status == CSE_OK && i < range.count; i++) {
        found->log_likelihood += scores[i - 1].log_probability;
        found->greedy = found->greedy && scores[i - 1].is_most_likely;
    }
    free(scores);
    return status;
}

cse_status cse_log_likelihood(cse_likelihoods *l, const int32_t *tokens, int64_t count,
                              int64_t from, double *sum)
{
    cse_continuation_score found;
    cse_status status = score(l, (token_range){ tokens, count, from }, l->longest, &found);
    *sum = found.log_likelihood;
    return status;
}

cse_status cse_continuation_likelihood(cse_likelihoods *l, const int32_t *tokens, int64_t count,
                                       int64_t from, cse_continuation_score *found)
{
    return score(l, (token_range){ tokens, count, from }, l->longest + 1, found);
}

cse_status cse_log_likelihood_of_all(cse_likelihoods *l, const int32_t *tokens, int64_t count,
                                     double *sum)
{
    *sum = 0;
    for (int64_t first = 0; first + 1 < count; first += l->longest - 1) {
        double part;
        const int64_t left = count - first;
        CSE_TRY(
            cse_log_likelihood(l, tokens + first, left < l->longest ? left : l->longest, 1, &part));
        *sum += part;
    }
    return CSE_OK;
}
