/* The runs of n tokens (n-grams) that labels and predictions have in common. */
#ifndef CSE_METRICS_NGRAMS_H
#define CSE_METRICS_NGRAMS_H

#include "csengine/metric.h"

/* Numbers of n-grams of the microbatch, float32; `common` counts one of the predictions as often as
 * the labels of its sample have it at most. */
typedef struct cse_ngrams {
    cse_tensor *common, *predicted, *labelled; /* [batch, positions]: 1 where there is one */
} cse_ngrams;

/* Of int32 labels [batch, time] and predictions [batch, other time]. `padding` belongs to no
 * n-gram; below 0: there is none. All NULL where n is more than one of the times. */
cse_ngrams cse_ngrams_of(cse_metric_step *step, int64_t n, int64_t padding);

/* The sum over the global batch; 0 for NULL. */
cse_tensor *cse_ngrams_sum(cse_tensor *x);

#define CSE_NGRAMS_PADDING                                                                \
    {                                                                                     \
        .name = "padding", .type = CSE_SETTING_INTEGER, .default_value = "-1", .min = -1, \
        .max = 2147483647, .doc = "token that belongs to no sequence of tokens; -1: none" \
    }

#endif
