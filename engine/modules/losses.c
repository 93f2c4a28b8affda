/* Losses of models over the inputs of a step. */
#include <stddef.h>

#include "csengine/modules.h"
#include "engine/trace/trace.h"

static cse_tensor *token_losses(cse_tensor *logits, cse_tensor *labels, double label_smoothing)
{
    if (label_smoothing == 0)
        return cse_cross_entropy_per_sample(logits, labels);
    return cse_cross_entropy_with(
        logits, labels,
        &(cse_cross_entropy_options){ .reduction = CSE_REDUCTION_NONE,
                                      .label_smoothing = label_smoothing });
}

/* Sum and count are divided by the number of tokens, so that they have the size of a mean whatever
 * the microbatch is: 16-bit types hold no sums of thousands. */
static cse_tensor *mean_of_counted(cse_tensor *losses, cse_tensor *mask, double weight)
{
    return cse_loss_quotient(NULL, cse_scale(cse_mean_all(losses), weight), cse_mean_all(mask));
}

cse_tensor *cse_lm_loss(cse_tensor *logits, cse_tensor *labels, cse_tensor *mask,
                        const cse_lm_loss_options *options)
{
    const cse_lm_loss_options defaults = { .by_batch = false };
    options = options != NULL ? options : &defaults;
    const double weight = options->weight != 0 ? options->weight : 1;
    if (mask == NULL && !options->by_batch && weight == 1 && options->label_smoothing == 0)
        return cse_cross_entropy(logits, labels);
    cse_tensor *losses = token_losses(logits, labels, options->label_smoothing);
    if (mask != NULL) {
        mask = cse_cast(mask, CSE_FLOAT32);
        losses = cse_mul(losses, mask);
    }
    if (cse_trace_is_poison(losses))
        return losses;
    cse_loss_of_tokens(NULL, cse_sum_all(losses), mask);
    if (options->by_batch)
        return cse_scale(cse_sum_all(losses), weight / (double)cse_tensor_shape(labels).dims[0]);
    return mask != NULL ? mean_of_counted(losses, mask, weight)
                        : cse_scale(cse_mean_all(losses), weight);
}
