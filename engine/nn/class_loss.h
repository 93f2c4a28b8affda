/* What the configuration asks of every loss of classes: label smoothing and weights of classes, in
 * one place for all models. A model calls cse_classification_loss or cse_lm_loss, which look here.
 *
 * Weights are those of PyTorch's cross_entropy: the mean over labels is that of the losses times
 * the weight of the label's class over the sum of these weights. Smoothing is of training steps
 * alone, as a validation measures the plain loss; weights are of both. */
#ifndef CSE_ENGINE_NN_CLASS_LOSS_H
#define CSE_ENGINE_NN_CLASS_LOSS_H

#include "csengine/status.h"
#include "csengine/tensor.h"

typedef struct cse_class_loss {
    double label_smoothing;
    const float *weights; /* [weight_count]: of each class; NULL: 1 */
    int weight_count;
    const char *smoothing_origin, *weights_origin; /* where they were set */
    bool smoothed, weighed;                        /* by a loss of the step that is traced */
} cse_class_loss;

/* What holds for the step that is traced; NULL: nothing. */
cse_class_loss *cse_class_loss_traced(void);
/* Label smoothing of the step that is traced, 0 in an evaluation, and that it is used. */
double cse_class_loss_smoothing(void);
/* The weights [classes] as a constant of the step, and that they are used; NULL: there are none. A
 * poisoned tensor where there are not `classes` of them. */
cse_tensor *cse_class_loss_weights(int64_t classes);

/* After the loss of a training step was traced: fails the step where no loss used a setting. */
void cse_class_loss_check_used(const char *model);

#endif
