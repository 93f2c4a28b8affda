/* The losses of models that label a text: one class, numbers, or several classes at once. */
#ifndef CSE_MODELS_CLASS_LOSS_H
#define CSE_MODELS_CLASS_LOSS_H

#include "csengine/modules.h"

#define CSE_PROBLEM_TYPES "single_label_classification|regression|multi_label_classification"

/* logits [batch, num_labels]; labels int32 [batch] of a single class, else float32 [batch] or
 * [batch, num_labels]. `problem` is one of CSE_PROBLEM_TYPES. */
cse_tensor *cse_text_class_loss(const char *problem, cse_tensor *logits, cse_tensor *labels);
/* CSE_CONFIG where problem_type is of a single class and num_labels is 1. */
cse_status cse_check_class_problem(const cse_settings *settings);

#endif
