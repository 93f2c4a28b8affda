/* mean_iou: the mean over classes of intersection over union,
 *
 *   correct / (labelled + predicted - correct)
 *
 * which are the sums of the weights of the samples where the class is label and prediction, label,
 * and prediction. Classes that were neither do not enter the mean, nor do
 * those of ignore_classes. */
#include "csengine/generated/ops.h"
#include "engine/nn/metrics/confusion.h"

static const cse_setting settings[] = {
    CSE_CONFUSION_CLASSES,
    CSE_CONFUSION_IGNORED("ignore_classes"),
    { .name = NULL },
};

static cse_status check(const cse_settings *s)
{
    return cse_confusion_check(s, "metric mean_iou", "ignore_classes");
}

static void update(cse_metric_step *m)
{
    const cse_confusion c = cse_confusion_add(m, "ignore_classes");
    cse_tensor *both = cse_add(c.labelled, c.predicted);
    m->value = cse_confusion_mean(&c, c.correct, cse_sub(both, c.correct));
}

/* Written by tests/reference/metrics.py. */
static const cse_metric_sample samples[] = {
    { .name = "plain",
      .settings = "{num_classes: 4}",
      .source = "the definition, by NumPy and loops over the samples",
      .argument_count = 2,
      .arguments = { { .dtype = CSE_INT32, .values = { 2, 1, 2, 2, 1, 2, 2, 0, 0, 0, 0, 2 } },
                     { .dtype = CSE_INT32, .values = { 2, 2, 0, 2, 1, 2, 2, 0, 1, 1, 1, 0 } } },
      .values = { 0.1666666667, 0.5555555556, 0.3126984127 } },
    { .name = "weighted",
      .settings = "{num_classes: 4}",
      .source = "the definition, by NumPy and loops over the samples",
      .argument_count = 3,
      .arguments = { { .dtype = CSE_INT32, .values = { 2, 1, 2, 2, 1, 2, 2, 0, 0, 0, 0, 2 } },
                     { .dtype = CSE_INT32, .values = { 2, 2, 0, 2, 1, 2, 2, 0, 1, 1, 1, 0 } },
                     { .dtype = CSE_FLOAT32,
                       .values = { 1, 1, 0.5, 1.5, 0.75, 0.25, 1.25, 0.25, 1.5, 1, 0, 0 } } },
      .values = { 0.2083333333, 0.4963924964, 0.3268887975 } },
    { .name = "plain",
      .settings = "{num_classes: 4, ignore_classes: [1, 3]}",
      .source = "the definition, by NumPy and loops over the samples",
      .argument_count = 2,
      .arguments = { { .dtype = CSE_INT32, .values = { 2, 1, 2, 2, 1, 2, 2, 0, 0, 0, 0, 2 } },
                     { .dtype = CSE_INT32, .values = { 2, 2, 0, 2, 1, 2, 2, 0, 1, 1, 1, 0 } } },
      .values = { 0.25, 0.5833333333, 0.369047619 } },
    { .name = "weighted",
      .settings = "{num_classes: 4, ignore_classes: [1, 3]}",
      .source = "the definition, by NumPy and loops over the samples",
      .argument_count = 3,
      .arguments = { { .dtype = CSE_INT32, .values = { 2, 1, 2, 2, 1, 2, 2, 0, 0, 0, 0, 2 } },
                     { .dtype = CSE_INT32, .values = { 2, 2, 0, 2, 1, 2, 2, 0, 1, 1, 1, 0 } },
                     { .dtype = CSE_FLOAT32,
                       .values = { 1, 1, 0.5, 1.5, 0.75, 0.25, 1.25, 0.25, 1.5, 1, 0, 0 } } },
      .values = { 0.3125, 0.5303030303, 0.4020979021 } },
    { .name = "refused", .settings = "{}", .refusal = "num_classes" },
    { .name = NULL },
};

const cse_metric_descriptor cse_metric_mean_iou = {
    .name = "mean_iou",
    .summary = "mean over classes of intersection over union",
    .settings = settings,
    .check = check,
    CSE_CONFUSION_ARGUMENTS,
    .update = update,
    .samples = samples,
};
