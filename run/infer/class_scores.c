/* The softmax in double. */
#include "run/infer/class_scores.h"

#include <math.h>
#include <stdlib.h>

static int most_likely_first(const void *left, const void *right)
{
    const cse_class_score *a = left, *b = right;
    if (a->probability != b->probability)
        return a->probability > b->probability ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

void cse_class_scores(const float *logits, int64_t count, cse_class_score *scores)
{
    double largest = -INFINITY, sum = 0;
    for (int64_t i = 0; i < count; i++)
        largest = fmax(largest, (double)logits[i]);
    for (int64_t i = 0; i < count; i++) {
        scores[i] = (cse_class_score){ exp((double)logits[i] - largest), i };
        sum += scores[i].probability;
    }
    for (int64_t i = 0; i < count; i++)
        scores[i].probability /= sum;
    qsort(scores, (size_t)count, sizeof *scores, most_likely_first);
}
