/* The sequences of tokens that the samples of metrics over n-grams share: three batches of four,
 * and the same predictions with zeros behind their ends. Written by tests/reference/metrics.py. */
#ifndef CSE_TESTS_SAMPLES_METRICS_NGRAMS_H
#define CSE_TESTS_SAMPLES_METRICS_NGRAMS_H

#define CSE_NGRAMS_LABELS                                                                        \
    1, 1, 3, 2, 3, 1, 3, 1, 2, 3, 1, 2, 3, 2, 1, 2, 2, 3, 3, 2, 1, 2, 1, 3, 3, 2, 3, 2, 2, 3, 3, \
        3, 3, 1, 2, 3, 1, 1, 2, 3, 3, 3, 2, 1, 3, 2, 3, 3

#define CSE_NGRAMS_PREDICTIONS                                                                   \
    1, 1, 1, 2, 3, 1, 3, 1, 2, 3, 1, 2, 3, 2, 3, 2, 1, 3, 3, 3, 3, 2, 1, 1, 3, 3, 3, 2, 2, 3, 3, \
        2, 3, 3, 1, 1, 1, 1, 2, 3, 3, 1, 3, 1, 3, 2, 3, 2

#define CSE_NGRAMS_PADDED_PREDICTIONS                                                            \
    1, 0, 0, 0, 3, 0, 0, 0, 2, 3, 0, 0, 3, 2, 3, 0, 1, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0, 2, 3, 3, \
        0, 3, 0, 0, 0, 1, 0, 0, 0, 3, 1, 0, 0, 3, 2, 0, 0

#endif
