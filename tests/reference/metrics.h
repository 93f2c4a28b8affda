/* Written by metrics.py: do not edit. */
#ifndef CSE_TESTS_REFERENCE_METRICS_H
#define CSE_TESTS_REFERENCE_METRICS_H

enum { METRIC_ROWS = 24, METRIC_CLASSES = 3, METRIC_BATCH = 4, METRIC_STEPS = 6 };

static const double metric_scores[METRIC_ROWS * METRIC_CLASSES] = {
    3.375,   1.375,   1.75,    3.0625,  1.0625, 2.3125,  2.6875, -1.125,  -2.1875, -0.625, -0.75,
    2.9375,  3.1875,  -2.5,    0.5625,  2.625,  -1.6875, 2.4375, -1.8125, 0.375,   2.5625, -0.625,
    -0.375,  -0.8125, 1.9375,  -0.9375, 3.6875, 0.25,    0.4375, 0.625,   1.125,   0.9375, 0.625,
    3.6875,  2.5,     2.4375,  1.875,   1.375,  -0.375,  3.625,  0.375,   -1.1875, 2.75,   -1.5,
    2.8125,  1.3125,  -1.8125, -2.25,   0.25,   -2.3125, -1.625, 0.6875,  3.5625,  0.375,  2.5,
    3.1875,  2.625,   1.375,   0.25,    0.6875, -0.875,  0.5625, -0.1875, -1.0,    3.6875, -2.4375,
    -1.9375, -1.3125, 3.5,     1.8125,  3.0,    -1.25
};
static const int metric_labels[METRIC_ROWS] = { 2, 1, 1, 0, 1, 2, 1, 0, 1, 0, 2, 2,
                                                0, 1, 2, 2, 2, 1, 0, 2, 1, 0, 0, 1 };

static const double metric_accuracies[METRIC_STEPS] = { 0.0,   0.0,  0.0,
                                                        0.125, 0.15, 0.20833333333333334 };
static const double metric_weighted_accuracies[METRIC_STEPS] = {
    0.0, 0.0, 0.0, 0.3125, 0.4342105263157895, 0.5135869565217391
};
static const double metric_means[METRIC_STEPS] = {
    1.15625,           0.7421875, 0.9756944444444444, 0.8776041666666666, 0.8947916666666667,
    0.7951388888888888
};
static const double metric_weighted_means[METRIC_STEPS] = {
    1.2314335060449049, 0.9833078491335371, 1.2766472868217054,
    1.1621477937267413, 1.274501752080596,  1.1093024294390852
};

#endif
