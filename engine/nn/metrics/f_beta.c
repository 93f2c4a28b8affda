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

const cse_metric_descriptor cse_metric_f_beta = {
    .name = "f_beta",
    .summary = "weighted harmonic mean of precision and recall",
    .settings = settings,
    .check = check,
    CSE_CONFUSION_ARGUMENTS,
    .update = update,
};
