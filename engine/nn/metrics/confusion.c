/* Counts of each class, as sums of one-hot rows. */
#include "engine/nn/metrics/confusion.h"

#include "csengine/generated/ops.h"

cse_status cse_confusion_check(const cse_settings *settings, const char *subject,
                               const char *ignored)
{
    const int64_t classes = cse_settings_integer(settings, "num_classes");
    for (int i = 0; i < cse_settings_count(settings, ignored); i++)
        if (cse_settings_integer_at(settings, ignored, i) >= classes)
            return cse_fail(CSE_CONFIG, "%s: %s (%s): %lld is none of the classes 0 to %lld",
                            subject, ignored, cse_settings_origin(settings, ignored),
                            (long long)cse_settings_integer_at(settings, ignored, i),
                            (long long)classes - 1);
    return CSE_OK;
}

static cse_tensor *with_last_axis(cse_tensor *x)
{
    cse_shape shape = cse_tensor_shape(x);
    shape.dims[shape.rank++] = 1;
    return cse_reshape(x, shape);
}

/* Which classes enter the mean: a bool of each. */
static cse_tensor *counting(const cse_settings *settings, int64_t classes, const char *ignored)
{
    cse_tensor *classes_in_order = cse_iota(classes, 0, 1), *counts = NULL;
    counts = cse_greater_equal(classes_in_order, cse_constant_int(0));
    for (int i = 0; ignored != NULL && i < cse_settings_count(settings, ignored); i++) {
        int32_t left_out = (int32_t)cse_settings_integer_at(settings, ignored, i);
        cse_tensor *other = cse_not_equal(classes_in_order, cse_constant_int(left_out));
        counts = cse_logical_and(counts, other);
    }
    return counts;
}

cse_confusion cse_confusion_add(cse_metric_step *step, const char *ignored)
{
    const int64_t classes = cse_settings_integer(step->settings, "num_classes");
    cse_tensor *labels = cse_one_hot(step->arguments[0], classes);
    cse_tensor *predictions = cse_one_hot(step->arguments[1], classes);
    if (step->arguments[2] != NULL)
        labels = cse_mul(labels, with_last_axis(step->arguments[2]));
    cse_tensor *both = cse_mul(labels, predictions);
    if (step->arguments[2] != NULL)
        predictions = cse_mul(predictions, with_last_axis(step->arguments[2]));
    return (cse_confusion){
        .correct = cse_metric_add(step, 0, cse_metric_sum_rows(both)),
        .labelled = cse_metric_add(step, 2, cse_metric_sum_rows(labels)),
        .predicted = cse_metric_add(step, 4, cse_metric_sum_rows(predictions)),
        .counts = counting(step->settings, classes, ignored),
    };
}

cse_tensor *cse_confusion_sum(const cse_confusion *confusion, cse_tensor *x)
{
    return cse_sum_all(cse_where(confusion->counts, x, cse_constant(0)));
}

cse_tensor *cse_confusion_mean(const cse_confusion *confusion, cse_tensor *numerator,
                               cse_tensor *denominator)
{
    cse_tensor *zero = cse_constant(0), *one = cse_constant(1);
    cse_tensor *there = cse_greater(denominator, zero);
    cse_tensor *quotient = cse_where(there, cse_div(numerator, denominator), zero);
    cse_tensor *number = cse_confusion_sum(confusion, cse_cast(there, CSE_FLOAT32));
    return cse_div(cse_confusion_sum(confusion, quotient), cse_maximum(number, one));
}
