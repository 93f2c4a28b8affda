/* auc: the area under the ROC curve or under the curve of precision over recall, by the counts at
 * num_thresholds values from 0 to 1, the first and the last of which all and no probabilities are
 * above.
 *
 *   true_positives[t], false_positives[t]   weights of the samples above threshold t that are, and
 *                                           are not, of the class
 *
 * The height between two thresholds is the mean of both (interpolation), the lesser (minoring) or
 * the greater (majoring). Between two points of precision over recall the curve is no straight
 * line: interpolation follows true positives that grow in proportion to positives (Davis and
 * Goadrich, "The relationship between precision-recall and ROC curves", 2006). */
#include <string.h>

#include "csengine/generated/ops.h"
#include "csengine/metric.h"

enum { TRUE_POSITIVES, FALSE_POSITIVES = 2, POSITIVES = 4, NEGATIVES = 6 };

static const cse_setting settings[] = {
    { .name = "num_thresholds",
      .type = CSE_SETTING_INTEGER,
      .default_value = "200",
      .min = 2,
      .max = 65536,
      .doc = "how many probabilities the samples are divided at" },
    { .name = "curve",
      .type = CSE_SETTING_CHOICE,
      .default_value = "ROC",
      .choices = "ROC|PR",
      .doc = "recall over the rate of false positives, or precision over recall" },
    { .name = "summation_method",
      .type = CSE_SETTING_CHOICE,
      .default_value = "interpolation",
      .choices = "interpolation|minoring|majoring",
      .doc = "the height of the curve between two thresholds" },
    { .name = NULL },
};

/* A little beyond 0 and 1 at the ends. */
static cse_tensor *thresholds_of(int64_t count)
{
    const double beyond = 1e-7;
    cse_tensor *number = cse_iota(count, 0, 1);
    cse_tensor *inner = cse_scale(cse_cast(number, CSE_FLOAT32), 1.0 / (double)(count - 1));
    cse_tensor *is_first = cse_equal(number, cse_constant_int(0));
    cse_tensor *is_last = cse_equal(number, cse_constant_int((int32_t)(count - 1)));
    cse_tensor *last = cse_where(is_last, cse_constant(1 + beyond), inner);
    return cse_where(is_first, cse_constant(-beyond), last);
}

/* 0 where the divisor is 0. */
static cse_tensor *quotient(cse_tensor *a, cse_tensor *b)
{
    cse_tensor *there = cse_greater(b, cse_constant(0));
    return cse_where(there, cse_div(a, cse_where(there, b, cse_constant(1))), cse_constant(0));
}

static cse_tensor *first_ones(cse_tensor *x)
{
    return cse_slice_axis(x, 0, 0, cse_tensor_shape(x).dims[0] - 1);
}

static cse_tensor *later_ones(cse_tensor *x)
{
    return cse_slice_axis(x, 0, 1, cse_tensor_shape(x).dims[0]);
}

static cse_tensor *height(cse_tensor *y, const char *method)
{
    cse_tensor *left = first_ones(y), *right = later_ones(y);
    if (strcmp(method, "minoring") == 0)
        return cse_minimum(left, right);
    if (strcmp(method, "majoring") == 0)
        return cse_maximum(left, right);
    return cse_scale(cse_add(left, right), 0.5);
}

/* Between two thresholds the true positives are intercept + slope * positives. */
static cse_tensor *area_between_precisions(cse_tensor *hits, cse_tensor *found,
                                           cse_tensor *positives)
{
    cse_tensor *zero = cse_constant(0), *more = first_ones(found), *less = later_ones(found);
    cse_tensor *rise = cse_sub(first_ones(hits), later_ones(hits));
    cse_tensor *slope = quotient(rise, cse_sub(more, less));
    cse_tensor *intercept = cse_sub(later_ones(hits), cse_mul(slope, less));
    cse_tensor *both = cse_logical_and(cse_greater(more, zero), cse_greater(less, zero));
    cse_tensor *ratio = cse_where(both, quotient(more, less), cse_constant(1));
    cse_tensor *part = cse_mul(slope, cse_add(rise, cse_mul(intercept, cse_log(ratio))));
    return quotient(cse_sum_all(part), positives);
}

static void update(cse_metric_step *m)
{
    cse_tensor *probabilities = m->arguments[1], *weights = m->arguments[2];
    cse_shape column = cse_tensor_shape(probabilities);
    column.dims[column.rank++] = 1;
    const char *method = cse_settings_text(m->settings, "summation_method");
    cse_tensor *is_one = cse_cast(cse_not_equal(m->arguments[0], cse_constant_int(0)), CSE_FLOAT32);
    cse_tensor *is_other = cse_sub(cse_constant(1), is_one);
    if (weights != NULL) {
        is_one = cse_mul(is_one, weights);
        is_other = cse_mul(is_other, weights);
    }
    cse_tensor *thresholds = thresholds_of(cse_settings_integer(m->settings, "num_thresholds"));
    cse_tensor *above =
        cse_cast(cse_greater(cse_reshape(probabilities, column), thresholds), CSE_FLOAT32);
    cse_tensor *ones = cse_mul(above, cse_reshape(is_one, column));
    cse_tensor *others = cse_mul(above, cse_reshape(is_other, column));
    cse_tensor *hits = cse_metric_add(m, TRUE_POSITIVES, cse_metric_sum_rows(ones));
    cse_tensor *misses = cse_metric_add(m, FALSE_POSITIVES, cse_metric_sum_rows(others));
    cse_tensor *positives = cse_metric_add(m, POSITIVES, cse_metric_sum(is_one));
    cse_tensor *negatives = cse_metric_add(m, NEGATIVES, cse_metric_sum(is_other));
    const bool is_roc = strcmp(cse_settings_text(m->settings, "curve"), "ROC") == 0;
    cse_tensor *recall = quotient(hits, positives), *found = cse_add(hits, misses);
    if (!is_roc && strcmp(method, "interpolation") == 0) {
        m->value = area_between_precisions(hits, found, positives);
        return;
    }
    cse_tensor *x = is_roc ? quotient(misses, negatives) : recall;
    cse_tensor *y = is_roc ? recall : quotient(hits, found);
    m->value = cse_sum_all(cse_mul(cse_sub(first_ones(x), later_ones(x)), height(y, method)));
}

const cse_metric_descriptor cse_metric_auc = {
    .name = "auc",
    .summary = "area under the ROC curve, or of precision over recall",
    .settings = settings,
    .arguments = "labels, probabilities[, weights]",
    .min_arguments = 2,
    .max_arguments = 3,
    .state_count = 8,
    .states = { CSE_METRIC_TOTALS("true_positives"), CSE_METRIC_TOTALS("false_positives"),
                CSE_METRIC_TOTAL("positives"), CSE_METRIC_TOTAL("negatives") },
    .length_setting = "num_thresholds",
    .update = update,
};
