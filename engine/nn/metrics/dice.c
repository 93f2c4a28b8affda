/* dice: the mean over classes of the Dice coefficient,
 *
 *   2 * correct / (labelled + predicted)
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
    return cse_confusion_check(s, "metric dice", "ignore_classes");
}

static void update(cse_metric_step *m)
{
    const cse_confusion c = cse_confusion_add(m, "ignore_classes");
    m->value = cse_confusion_mean(&c, cse_scale(c.correct, 2), cse_add(c.labelled, c.predicted));
}

const cse_metric_descriptor cse_metric_dice = {
    .name = "dice",
    .summary = "mean over classes of the Dice coefficient",
    .settings = settings,
    .check = check,
    CSE_CONFUSION_ARGUMENTS,
    .update = update,
};
