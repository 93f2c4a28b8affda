/* f_beta: the F score, in which recall counts beta times as much as precision:
 *
 *   (1 + beta^2) * correct / (beta^2 * labelled + predicted)
 *
 * which are the sums of the weights of the samples where a class is label and prediction, label,
 * and prediction; added up over the classes (micro), or the mean over the classes of the scores of
 * each (macro; classes that were neither do not enter it). Classes of ignore_labels are left out
 * of both. */
#include <math.h>
#include <string.h>

#include "csengine/generated/ops.h"
#include "engine/nn/metrics/confusion.h"

static const cse_setting settings[] = {
    CSE_CONFUSION_CLASSES,
    CSE_CONFUSION_IGNORED("ignore_labels"),
    { .name = "beta",
      .type = CSE_SETTING_NUMBER,
      .default_value = "1.0",
      .min = 0,
      .max = 1e6,
      .doc = "weight of recall beside precision" },
    { .name = "average_type",
      .type = CSE_SETTING_CHOICE,
      .default_value = "micro",
      .choices = "micro|macro",
      .doc = "one score of all classes, or the mean of their scores" },
    { .name = NULL },
};

static cse_status check(const cse_settings *s)
{
    return cse_confusion_check(s, "metric f_beta", "ignore_labels");
}

static void update(cse_metric_step *m)
{
    const cse_confusion c = cse_confusion_add(m, "ignore_labels");
    const double square = pow(cse_settings_number(m->settings, "beta"), 2);
    cse_tensor *hits = cse_scale(c.correct, 1 + square);
    cse_tensor *all = cse_add(cse_scale(c.labelled, square), c.predicted);
    if (strcmp(cse_settings_text(m->settings, "average_type"), "macro") == 0) {
        m->value = cse_confusion_mean(&c, hits, all);
        return;
    }
    cse_tensor *zero = cse_constant(0), *number = cse_confusion_sum(&c, all);
    cse_tensor *score = cse_div(cse_confusion_sum(&c, hits), number);
    m->value = cse_where(cse_greater(number, zero), score, zero);
}

/* Written by tests/reference/metrics.py. */
static const cse_metric_sample samples[] = {
    { .name = "plain",
      .settings = "{num_classes: 4, average_type: macro}",
      .source = "the definition, by NumPy and loops over the samples",
      .argument_count = 2,
      .arguments = { { .dtype = CSE_INT32, .values = { 2, 1, 2, 2, 1, 2, 2, 0, 0, 0, 0, 2 } },
                     { .dtype = CSE_INT32, .values = { 2, 2, 0, 2, 1, 2, 2, 0, 1, 1, 1, 0 } } },
      .values = { 0.2222222222, 0.7111111111, 0.4487734488 } },
    { .name = "weighted",
      .settings = "{num_classes: 4, average_type: macro}",
      .source = "the definition, by NumPy and loops over the samples",
      .argument_count = 3,
      .arguments = { { .dtype = CSE_INT32, .values = { 2, 1, 2, 2, 1, 2, 2, 0, 0, 0, 0, 2 } },
                     { .dtype = CSE_INT32, .values = { 2, 2, 0, 2, 1, 2, 2, 0, 1, 1, 1, 0 } },
                     { .dtype = CSE_FLOAT32,
                       .values = { 1, 1, 0.5, 1.5, 0.75, 0.25, 1.25, 0.25, 1.5, 1, 0, 0 } } },
      .values = { 0.2564102564, 0.6473684211, 0.428320802 } },
    { .name = "plain",
      .settings = "{num_classes: 4, beta: 2, ignore_labels: [2]}",
      .source = "the definition, by NumPy and loops over the samples",
      .argument_count = 2,
      .arguments = { { .dtype = CSE_INT32, .values = { 2, 1, 2, 2, 1, 2, 2, 0, 0, 0, 0, 2 } },
                     { .dtype = CSE_INT32, .values = { 2, 2, 0, 2, 1, 2, 2, 0, 1, 1, 1, 0 } } },
      .values = { 0, 0.6666666667, 0.3225806452 } },
    { .name = "weighted",
      .settings = "{num_classes: 4, beta: 2, ignore_labels: [2]}",
      .source = "the definition, by NumPy and loops over the samples",
      .argument_count = 3,
      .arguments = { { .dtype = CSE_INT32, .values = { 2, 1, 2, 2, 1, 2, 2, 0, 0, 0, 0, 2 } },
                     { .dtype = CSE_INT32, .values = { 2, 2, 0, 2, 1, 2, 2, 0, 1, 1, 1, 0 } },
                     { .dtype = CSE_FLOAT32,
                       .values = { 1, 1, 0.5, 1.5, 0.75, 0.25, 1.25, 0.25, 1.5, 1, 0, 0 } } },
      .values = { 0, 0.5263157895, 0.2272727273 } },
    { .name = "refused",
      .settings = "{num_classes: 2, average_type: weighted}",
      .refusal = "one of" },
    { .name = NULL },
};

const cse_metric_descriptor cse_metric_f_beta = {
    .name = "f_beta",
    .summary = "weighted harmonic mean of precision and recall",
    .settings = settings,
    .check = check,
    CSE_CONFUSION_ARGUMENTS,
    .update = update,
    .samples = samples,
};
