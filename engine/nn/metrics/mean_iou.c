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

const cse_metric_descriptor cse_metric_mean_iou = {
    .name = "mean_iou",
    .summary = "mean over classes of intersection over union",
    .settings = settings,
    .check = check,
    CSE_CONFUSION_ARGUMENTS,
    .update = update,
};
