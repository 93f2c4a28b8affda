/* confusion_matrix: how often each class (row: the label) was taken for each (column: the
 * prediction), with the weights of the samples where there are some. The counts are the states;
 * the value, a scalar, is the share of the diagonal. A label or prediction outside the classes
 * counts for none. */
#include "csengine/generated/ops.h"
#include "csengine/metric.h"
#include "csengine/train.h"

/* Two states of classes * classes float32 numbers. */
enum { MOST_CLASSES = 2048 };

static const cse_setting settings[] = {
    { .name = "num_classes",
      .type = CSE_SETTING_INTEGER,
      .min = 1,
      .max = MOST_CLASSES,
      .doc = "number of classes" },
    { .name = NULL },
};

/* [rows, classes] of labels of any rank. */
static cse_tensor *one_hot_rows(cse_tensor *x, int64_t classes)
{
    const int64_t rows = cse_shape_elements(cse_tensor_shape(x));
    return cse_one_hot(cse_reshape(x, cse_shape_of(rows)), classes);
}

static void update(cse_metric_step *m)
{
    const int64_t classes = cse_settings_integer(m->settings, "num_classes");
    cse_tensor *labels = one_hot_rows(m->arguments[0], classes);
    cse_tensor *predictions = one_hot_rows(m->arguments[1], classes);
    if (m->arguments[2] != NULL) {
        const cse_shape shape = cse_tensor_shape(labels);
        labels = cse_mul(labels, cse_reshape(m->arguments[2], cse_shape_of(shape.dims[0], 1)));
    }
    cse_tensor *counts = cse_batch_sum(cse_matmul(labels, predictions, true, false));
    cse_tensor *total = cse_metric_add(m, 0, counts);
    cse_tensor *rows = cse_iota(classes, 0, 1);
    cse_tensor *diagonal = cse_equal(cse_reshape(rows, cse_shape_of(classes, 1)), rows);
    m->value = cse_metric_quotient(cse_sum_all(cse_where(diagonal, total, cse_constant(0))),
                                   cse_sum_all(total));
}

const cse_metric_descriptor cse_metric_confusion_matrix = {
    .name = "confusion_matrix",
    .summary = "counts of each label and prediction; the value is the share of correct ones",
    .settings = settings,
    .arguments = "labels, predictions[, weights]",
    .min_arguments = 2,
    .max_arguments = 3,
    .state_count = 2,
    .states = { { .name = "counts", .square = true }, { .name = "counts_rest", .square = true } },
    .length_setting = "num_classes",
    .update = update,
};
