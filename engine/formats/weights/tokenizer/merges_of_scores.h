/* The merges of a vocabulary of SentencePiece, whose tokens have scores in their place. */
#ifndef CSE_WEIGHTS_MERGES_OF_SCORES_H
#define CSE_WEIGHTS_MERGES_OF_SCORES_H

#include <jansson.h>

/* `numbers`: of each token of `tokens`. Returns a list of pairs; json_decref(). */
json_t *cse_merges_of_scores(const json_t *tokens, const json_t *numbers, const json_t *scores);

#endif
