/* As transformers computes them from problem_type. */
#include "engine/nn/models/class_loss.h"

#include <string.h>

#include "engine/graph/trace/trace.h"

cse_tensor *cse_text_class_loss(const char *problem, cse_tensor *logits, cse_tensor *labels)
{
    if (cse_trace_is_poison(logits) || cse_trace_is_poison(labels))
        return logits;
    const cse_shape shape = cse_tensor_shape(logits);
    const bool is_single = problem[0] == 's', are_classes = cse_tensor_dtype(labels) == CSE_INT32;
    if (is_single != are_classes)
        return cse_trace_fail(
            CSE_CONFIG, "problem_type %s takes labels of %s, those of the data are %s", problem,
            is_single ? "one class each, int32 [batch]"
                      : "numbers, float32 [batch, num_labels] (sentences: "
                        "label_type numbers or classes)",
            cse_dtype_name(cse_tensor_dtype(labels)));
    if (is_single)
        return cse_classification_loss(logits, cse_reshape(labels, cse_shape_of(shape.dims[0])));
    labels = cse_reshape(labels, shape);
    return problem[0] == 'r' ? cse_mse_loss(logits, labels, CSE_REDUCTION_MEAN)
                             : cse_bce_with_logits(logits, labels, NULL, CSE_REDUCTION_MEAN);
}

cse_status cse_check_class_problem(const cse_settings *s)
{
    if (cse_settings_integer(s, "num_labels") != 1 ||
        strcmp(cse_settings_text(s, "problem_type"), "single_label_classification") != 0)
        return CSE_OK;
    return cse_fail(CSE_CONFIG,
                    "problem_type (%s) is single_label_classification, but num_labels is 1: one "
                    "class is always right; set problem_type to regression for a number, or "
                    "num_labels to 2",
                    cse_settings_origin(s, "problem_type"));
}
