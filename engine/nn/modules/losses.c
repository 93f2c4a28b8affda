/* Losses of models over the inputs of a step. */
#include <stddef.h>

#include "csengine/modules.h"
#include "engine/graph/ops/loss_quotient.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/class_loss.h"

static cse_tensor *token_losses(cse_tensor *logits, cse_tensor *labels, double label_smoothing)
{
    return cse_cross_entropy_with(
        logits, labels,
        &(cse_cross_entropy_options){ .reduction = CSE_REDUCTION_NONE,
                                      .label_smoothing = label_smoothing });
}

/* 1 for each label that is not ignored, times its mask. */
static cse_tensor *counted_labels(cse_tensor *labels, cse_tensor *mask)
{
    cse_tensor *counted = cse_not_equal(labels, cse_constant_int(CSE_DEFAULT_IGNORE_INDEX));
    return mask != NULL ? cse_where(counted, mask, cse_constant(0))
                        : cse_cast(counted, CSE_FLOAT32);
}

/* Tells the tokens' losses. The penalty (NULL: none) is times what the sum is divided by. */
static cse_tensor *mean_of_counted(cse_tensor *losses, cse_tensor *labels, cse_tensor *mask,
                                   double weight, cse_tensor *penalty)
{
    cse_tensor *mean = cse_mean_all(losses);
    mean = weight != 1 ? cse_scale(mean, weight) : mean;
    cse_tensor *counts = counted_labels(labels, mask);
    cse_tensor *sum = cse_sum_all(counts);
    cse_tensor *tokens = cse_constant((double)cse_shape_elements(cse_tensor_shape(counts)));
    cse_tensor *fraction = cse_div(sum, tokens);
    if (penalty != NULL)
        mean = cse_add(mean, cse_mul(penalty, fraction));
    cse_tensor *loss = cse_loss_quotient_of_means(mean, fraction);
    cse_loss_of_tokens(NULL, cse_sum_all(losses), counts);
    return loss;
}

/* Of labels that are probabilities [..., classes]: minus the sum of p times its weight times the
 * logarithm of the softmax. The mean is over rows, as in PyTorch, whatever the weights are. */
static cse_tensor *soft_loss(cse_tensor *logits, cse_tensor *labels)
{
    char shapes[2][128];
    const cse_shape shape = cse_tensor_shape(logits);
    if (!cse_shape_equal(shape, labels->shape))
        return cse_trace_fail(CSE_SHAPE,
                              "the model's outputs are %s and `labels`, which are probabilities "
                              "of classes, %s: they must have one shape",
                              cse_shape_text(shape, shapes[0], sizeof shapes[0]),
                              cse_shape_text(labels->shape, shapes[1], sizeof shapes[1]));
    const int64_t classes = shape.dims[shape.rank - 1];
    const double smoothing = cse_class_loss_smoothing();
    cse_tensor *weights = cse_class_loss_weights(classes);
    cse_tensor *log_p = cse_log_softmax(cse_cast(logits, CSE_FLOAT32), -1);
    if (weights != NULL && cse_trace_is_poison(weights))
        return weights;
    if (smoothing > 0)
        labels = cse_shift(cse_scale(labels, 1 - smoothing), smoothing / (double)classes);
    log_p = weights != NULL ? cse_mul(log_p, weights) : log_p;
    return cse_mean_all(cse_neg(cse_sum(cse_mul(labels, log_p), cse_axes(-1), false)));
}

/* With weights of classes. Metrics of labels take the losses without them. */
static cse_tensor *weighted_loss(cse_tensor *logits, cse_tensor *labels, cse_tensor *weights)
{
    const cse_cross_entropy_options options = { .reduction = CSE_REDUCTION_MEAN,
                                                .class_weights = weights,
                                                .label_smoothing = cse_class_loss_smoothing() };
    cse_tensor *loss = cse_cross_entropy_with(logits, labels, &options);
    if (!cse_trace_is_poison(loss))
        cse_loss_of_tokens(NULL, cse_sum_all(token_losses(logits, labels, 0)),
                           counted_labels(labels, NULL));
    return loss;
}

cse_tensor *cse_classification_loss(cse_tensor *logits, cse_tensor *labels)
{
    if (cse_trace_is_poison(logits) || cse_trace_is_poison(labels))
        return token_losses(logits, labels, 0);
    if (labels->dtype == CSE_FLOAT32)
        return soft_loss(logits, labels);
    const cse_shape shape = logits->shape;
    cse_tensor *weights =
        shape.rank > 0 ? cse_class_loss_weights(shape.dims[shape.rank - 1]) : NULL;
    if (weights != NULL)
        return cse_trace_is_poison(weights) ? weights : weighted_loss(logits, labels, weights);
    cse_tensor *losses = token_losses(logits, labels, cse_class_loss_smoothing());
    return cse_trace_is_poison(losses) ? losses : mean_of_counted(losses, labels, NULL, 1, NULL);
}

cse_tensor *cse_lm_loss(cse_tensor *logits, cse_tensor *labels, cse_tensor *mask,
                        const cse_lm_loss_options *options)
{
    const cse_lm_loss_options defaults = { .by_batch = false };
    options = options != NULL ? options : &defaults;
    const double weight = options->weight != 0 ? options->weight : 1;
    const double asked = cse_class_loss_smoothing();
    cse_tensor *losses = token_losses(logits, labels, asked > 0 ? asked : options->label_smoothing);
    if (mask != NULL) {
        mask = cse_cast(mask, CSE_FLOAT32);
        losses = cse_mul(losses, mask);
    }
    if (cse_trace_is_poison(losses) || cse_trace_is_poison(labels))
        return losses;
    if (!options->by_batch)
        return mean_of_counted(losses, labels, mask, weight, options->penalty);
    cse_loss_of_tokens(NULL, cse_sum_all(losses), counted_labels(labels, mask));
    cse_tensor *loss =
        cse_scale(cse_sum_all(losses), weight / (double)cse_tensor_shape(labels).dims[0]);
    return options->penalty != NULL ? cse_add(loss, options->penalty) : loss;
}
