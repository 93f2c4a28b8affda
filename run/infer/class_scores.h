/* Probabilities of classes, or of tokens, from the logits of one sample. */
#ifndef CSE_RUN_INFER_CLASS_SCORES_H
#define CSE_RUN_INFER_CLASS_SCORES_H

#include <stdint.h>

typedef struct cse_class_score {
    double probability;
    int64_t number;
} cse_class_score;

/* The softmax of logits [count], most likely first; of equal ones the first one. */
void cse_class_scores(const float *logits, int64_t count, cse_class_score *scores);

#endif
