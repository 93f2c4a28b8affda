/* How good the probabilities of a classifier are, from counts in bins of fixed width, so that it
 * takes the same memory for any number of samples.
 *
 * Calibration: of the samples whose greatest probability, the confidence, is in (b / 15, (b + 1) /
 * 15], the mean confidence and the share that is predicted as labelled. The expected calibration
 * error is the mean over the samples of the difference of these two of their bin (Guo et al., "On
 * calibration of modern neural networks", ICML 2017, section 2, with its 15 bins).
 *
 * Precision and recall of each class against all others at the thresholds k / 256: a sample is
 * found where its probability of the class is at least the threshold. At these thresholds both are
 * exact. The average precision, the sum of the precision at each sample of the class over their
 * number, depends on the order of the samples within a bin, which is not kept: it lies between the
 * values of the two orders that are worst and best for it, both of which are told. */
#ifndef CSE_RUN_JOB_CLASS_CURVES_H
#define CSE_RUN_JOB_CLASS_CURVES_H

#include <jansson.h>
#include <stdint.h>

enum {
    CSE_CALIBRATION_BINS = 15,
    CSE_PRECISION_BINS = 256,
    CSE_CURVE_CLASSES = 16, /* with more classes there are no curves of precision and recall */
};

typedef struct cse_calibration_bin {
    int64_t count, right;
    double confidence; /* the sum */
} cse_calibration_bin;

typedef struct cse_class_curves {
    int classes; /* whose precision and recall are counted; 0: of none */
    int64_t samples;
    int64_t unknown; /* whose probabilities are no numbers: they are in no bin */
    cse_calibration_bin calibration[CSE_CALIBRATION_BINS];
    /* By bin of the probability of the class. */
    int64_t labelled[CSE_CURVE_CLASSES][CSE_PRECISION_BINS];
    int64_t others[CSE_CURVE_CLASSES][CSE_PRECISION_BINS];
} cse_class_curves;

/* Adds a sample; `probabilities` of `classes`, NULL where that is 0. */
void cse_class_curves_add(cse_class_curves *curves, int label, int predicted, float confidence,
                          const float *probabilities);

/* The least and the greatest average precision that the samples of a class may have. NAN: there is
 * none of it. */
void cse_class_curves_average(const cse_class_curves *curves, int label, double limits[2]);

/* The expected calibration error; NAN: there is no sample. */
double cse_class_curves_calibration_error(const cse_class_curves *curves);

/* {error, bins: [{count, confidence, accuracy}], unknown}; bins without samples are null. */
json_t *cse_calibration_json(const cse_class_curves *curves);
/* [{class, samples, least, greatest, points: [[threshold, precision, recall]]}], with the points
 * where one of the counts changes. */
json_t *cse_precision_json(const cse_class_curves *curves);

#endif
