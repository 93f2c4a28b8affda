/* What metrics of classes share: how often each class was the label, the prediction, and both. */
#ifndef CSE_METRICS_CONFUSION_H
#define CSE_METRICS_CONFUSION_H

#include "csengine/metric.h"

#define CSE_CONFUSION_CLASSES                                                         \
    {                                                                                 \
        .name = "num_classes", .type = CSE_SETTING_INTEGER, .min = 1, .max = 1048576, \
        .doc = "number of classes"                                                    \
    }
#define CSE_CONFUSION_IGNORED(setting)                                                        \
    {                                                                                         \
        .name = (setting), .type = CSE_SETTING_INTEGER_LIST, .default_value = "[]", .min = 0, \
        .max = 1048575, .doc = "classes that do not enter the mean"                           \
    }

/* The states, which come first, and the arguments of each such metric. */
enum { CSE_CONFUSION_STATES = 6 };
#define CSE_CONFUSION_TOTALS \
    CSE_METRIC_TOTALS("correct"), CSE_METRIC_TOTALS("labelled"), CSE_METRIC_TOTALS("predicted")
#define CSE_CONFUSION_ARGUMENTS                                                            \
    .arguments = "labels, predictions[, weights]", .min_arguments = 2, .max_arguments = 3, \
    .state_count = CSE_CONFUSION_STATES, .states = { CSE_CONFUSION_TOTALS },               \
    .length_setting = "num_classes"

/* Sums of weights, one for each class. */
typedef struct cse_confusion {
    cse_tensor *correct, *labelled, *predicted;
    cse_tensor *counts; /* a bool: whether the class enters the mean */
} cse_confusion;

/* Every ignored class must be one of the classes. `subject`: "metric dice". */
cse_status cse_confusion_check(const cse_settings *settings, const char *subject,
                               const char *ignored);
/* Adds the batch and returns the totals; `ignored` is the setting that lists classes, or NULL. A
 * label or prediction outside the classes counts for none. */
cse_confusion cse_confusion_add(cse_metric_step *step, const char *ignored);
/* The mean of numerator / denominator over the classes that count and whose denominator is above 0;
 * 0 where there is none. */
cse_tensor *cse_confusion_mean(const cse_confusion *confusion, cse_tensor *numerator,
                               cse_tensor *denominator);
/* The sum over the classes that count. */
cse_tensor *cse_confusion_sum(const cse_confusion *confusion, cse_tensor *x);

#endif
