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

const cse_metric_descriptor cse_metric_mean_per_class_accuracy = {
    .name = "mean_per_class_accuracy",
    .summary = "mean over classes of the fraction that was predicted",
    .settings = settings,
    CSE_CONFUSION_ARGUMENTS,
    .update = update,
};
