/* mean_per_class_accuracy: the mean over the classes that were a label of correct / labelled,
 * which are the sums of the weights of the samples where the class is label and prediction, and
 * label. */
#include "csengine/generated/ops.h"
#include "engine/nn/metrics/confusion.h"

static const cse_setting settings[] = {
    CSE_CONFUSION_CLASSES,
    { .name = NULL },
};

static void update(cse_metric_step *m)
{
    const cse_confusion c = cse_confusion_add(m, NULL);
    m->value = cse_confusion_mean(&c, c.correct, c.labelled);
}

/* Written by tests/reference/metrics.py. */
static const cse_metric_sample samples[] = {
    { .name = "plain",
      .settings = "{num_classes: 4}",
      .source = "the definition, by NumPy and loops over the samples",
      .argument_count = 2,
      .arguments = { { .dtype = CSE_INT32, .values = { 2, 1, 2, 2, 1, 2, 2, 0, 0, 0, 0, 2 } },
                     { .dtype = CSE_INT32, .values = { 2, 2, 0, 2, 1, 2, 2, 0, 1, 1, 1, 0 } } },
      .values = { 0.3333333333, 0.7666666667, 0.4722222222 } },
    { .name = "weighted",
      .settings = "{num_classes: 4}",
      .source = "the definition, by NumPy and loops over the samples",
      .argument_count = 3,
      .arguments = { { .dtype = CSE_INT32, .values = { 2, 1, 2, 2, 1, 2, 2, 0, 0, 0, 0, 2 } },
                     { .dtype = CSE_INT32, .values = { 2, 2, 0, 2, 1, 2, 2, 0, 1, 1, 1, 0 } },
                     { .dtype = CSE_FLOAT32,
                       .values = { 1, 1, 0.5, 1.5, 0.75, 0.25, 1.25, 0.25, 1.5, 1, 0, 0 } } },
      .values = { 0.4166666667, 0.7724867725, 0.4694564695 } },
    { .name = NULL },
};

const cse_metric_descriptor cse_metric_mean_per_class_accuracy = {
    .name = "mean_per_class_accuracy",
    .summary = "mean over classes of the fraction that was predicted",
    .settings = settings,
    CSE_CONFUSION_ARGUMENTS,
    .update = update,
    .samples = samples,
};
