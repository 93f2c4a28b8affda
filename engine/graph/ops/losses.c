/* Losses that are a few other ops each, in float32 whatever the type of their arguments; see
 * losses.h. */
#include "engine/graph/ops/losses.h"

#include "csengine/modules.h"
#include "engine/graph/ops/loss_quotient.h"
#include "engine/graph/ops/rows.h"
#include "engine/graph/trace/input_range.h"

cse_tensor *cse_reduce_losses(cse_tensor *losses, cse_reduction reduction)
{
    return reduction == CSE_REDUCTION_NONE  ? losses
           : reduction == CSE_REDUCTION_SUM ? cse_sum_all(losses)
                                            : cse_mean_all(losses);
}

static cse_tensor *in_float32(cse_tensor *x)
{
    return cse_cast(x, CSE_FLOAT32);
}

static cse_tensor *difference(cse_tensor *x, cse_tensor *target)
{
    return cse_sub(in_float32(x), in_float32(target));
}

/** (x - target)^2, reduced; as PyTorch's mse_loss. The two broadcast. */
CSE_API cse_tensor *cse_mse_loss(cse_tensor *x, cse_tensor *target, cse_reduction reduction)
{
    return cse_reduce_losses(cse_square(difference(x, target)), reduction);
}

/** |x - target|, reduced; as PyTorch's l1_loss. The two broadcast. */
CSE_API cse_tensor *cse_l1_loss(cse_tensor *x, cse_tensor *target, cse_reduction reduction)
{
    return cse_reduce_losses(cse_abs(difference(x, target)), reduction);
}

/* d^2 / 2 where |d| is below delta, else delta * (|d| - delta / 2). */
static cse_tensor *huber(cse_tensor *d, double delta)
{
    cse_tensor *size = cse_abs(d);
    cse_tensor *linear = cse_scale(cse_shift(size, -0.5 * delta), delta);
    return cse_where(cse_less(size, cse_constant(delta)), cse_scale(cse_square(d), 0.5), linear);
}

/** With d = x - target: d^2 / (2 beta) where |d| < beta, else |d| - beta / 2, reduced; as PyTorch's
 * smooth_l1_loss, whose beta is 1. beta 0: |d|. */
CSE_API cse_tensor *cse_smooth_l1_loss(cse_tensor *x, cse_tensor *target, double beta,
                                       cse_reduction reduction)
{
    if (beta < 0)
        return cse_trace_fail(CSE_SHAPE, "smooth_l1_loss: beta %g; accepted: 0 or more", beta);
    return beta == 0 ? cse_l1_loss(x, target, reduction)
                     : cse_reduce_losses(cse_scale(huber(difference(x, target), beta), 1 / beta),
                                         reduction);
}

/** With d = x - target: d^2 / 2 where |d| < delta, else delta * (|d| - delta / 2), reduced; as
 * PyTorch's huber_loss, whose delta is 1. */
CSE_API cse_tensor *cse_huber_loss(cse_tensor *x, cse_tensor *target, double delta,
                                   cse_reduction reduction)
{
    if (!(delta > 0))
        return cse_trace_fail(CSE_SHAPE, "huber_loss: delta %g; accepted: above 0", delta);
    return cse_reduce_losses(huber(difference(x, target), delta), reduction);
}

/** The cross entropy of sigmoid(x) with target, in [0, 1], of x's shape: (1 - target) * x + w *
 * softplus(-x), reduced, where w = 1 + (pos_weight - 1) * target; as PyTorch's
 * binary_cross_entropy_with_logits. `pos_weight` broadcasts to x; NULL: 1. */
CSE_API cse_tensor *cse_bce_with_logits(cse_tensor *x, cse_tensor *target, cse_tensor *pos_weight,
                                        cse_reduction reduction)
{
    cse_tensor *logits = in_float32(x), *y = in_float32(target);
    cse_tensor *tail = cse_softplus(cse_neg(logits));
    if (pos_weight != NULL)
        tail = cse_mul(tail, cse_shift(cse_mul(cse_shift(in_float32(pos_weight), -1), y), 1));
    cse_tensor *against = cse_mul(cse_sub(cse_constant(1), y), logits);
    return cse_reduce_losses(cse_add(against, tail), reduction);
}

/** target * (ln(target) - x), reduced, where x holds logarithms of probabilities; 0 where target is
 * 0. With `log_target`, target holds logarithms, too. As PyTorch's kl_div; its "batchmean" is the
 * sum over the number of samples. */
CSE_API cse_tensor *cse_kl_div(cse_tensor *x, cse_tensor *target, bool log_target,
                               cse_reduction reduction)
{
    cse_tensor *y = in_float32(target), *log_x = in_float32(x);
    if (log_target)
        return cse_reduce_losses(cse_mul(cse_exp(y), cse_sub(y, log_x)), reduction);
    /* Where the target is 0 its logarithm is replaced, so that no gradient of it is infinite. */
    cse_tensor *positive = cse_greater(y, cse_constant(0));
    cse_tensor *log_y = cse_log(cse_where(positive, y, cse_constant(1)));
    return cse_reduce_losses(cse_mul(y, cse_sub(log_y, log_x)), reduction);
}

/* ---- classes ---- */

/* Rows of a loss of classes: which count, the class of each (0 where it does not count), and its
 * weight (0 where it does not; NULL: 1 where it does). */
typedef struct rows {
    cse_tensor *counted, *classes, *weights;
    int32_t ignored;
} rows;

static int32_t ignored_label(const cse_cross_entropy_options *o)
{
    return o->has_ignore_index ? o->ignore_index : CSE_DEFAULT_IGNORE_INDEX;
}

static rows count_rows(cse_tensor *labels, const cse_cross_entropy_options *o)
{
    rows r = { .ignored = ignored_label(o) };
    r.counted = cse_not_equal(labels, cse_constant_int(r.ignored));
    r.classes = cse_where(r.counted, labels, cse_constant_int(0));
    if (o->class_weights != NULL)
        r.weights = cse_where(r.counted, cse_gather(in_float32(o->class_weights), r.classes),
                              cse_constant(0));
    return r;
}

/* Minus the sum of the logarithms of the probabilities, each with its class's weight. */
static cse_tensor *smoothing_loss(cse_tensor *logits, const rows *r,
                                  const cse_cross_entropy_options *o)
{
    cse_tensor *log_p = cse_log_softmax(logits, -1);
    if (o->class_weights != NULL)
        log_p = cse_mul(log_p, in_float32(o->class_weights));
    cse_tensor *sum = cse_neg(cse_sum(log_p, cse_axes(-1), false));
    return cse_where(r->counted, sum, cse_constant(0));
}

/* The loss of each row, and the rows. */
static cse_tensor *row_losses(cse_tensor *logits, cse_tensor *labels,
                              const cse_cross_entropy_options *o, rows *r)
{
    const int64_t classes = cse_row_length(logits->shape);
    const double smoothing = o->label_smoothing;
    cse_tensor *scores = in_float32(logits);
    /* First, as its message names the loss. */
    cse_tensor *loss = cse_cross_entropy_ignoring(scores, labels, ignored_label(o));
    if (cse_trace_is_poison(loss))
        return loss;
    *r = count_rows(labels, o);
    loss = r->weights != NULL ? cse_mul(loss, r->weights) : loss;
    if (smoothing == 0)
        return loss;
    cse_tensor *smooth = cse_scale(smoothing_loss(scores, r, o), smoothing / (double)classes);
    return cse_add(cse_scale(loss, 1 - smoothing), smooth);
}

/* The sum of the weights of the rows that count. Without weights it is counted in the labels as
 * they were before a reshape, so that merged rows are the same step. */
static cse_tensor *sum_of_weights(cse_tensor *labels, const rows *r)
{
    if (r->weights != NULL)
        return cse_sum_all(r->weights);
    return cse_sum_all(cse_cast(
        cse_not_equal(cse_node_storage(labels), cse_constant_int(r->ignored)), CSE_FLOAT32));
}

/* The losses reduced: their mean is over the rows of the global batch that count. Sum and count are
 * divided by the number of rows of the microbatch, so that they have the size of a mean: 16-bit
 * types hold no sums of thousands. */
static cse_tensor *reduce_rows(cse_tensor *losses, cse_tensor *labels, const rows *r,
                               cse_reduction reduction)
{
    if (reduction != CSE_REDUCTION_MEAN || cse_trace_is_poison(losses))
        return cse_reduce_losses(losses, reduction);
    /* In the order of engine/nn/modules/losses.c, so that both are one step. */
    cse_tensor *mean = cse_mean_all(losses);
    cse_tensor *sum = sum_of_weights(labels, r);
    cse_tensor *count = cse_constant((double)cse_shape_elements(losses->shape));
    return cse_loss_quotient_of_means(mean, cse_div(sum, count));
}

static cse_tensor *check(cse_tensor *logits, cse_tensor *labels, const cse_cross_entropy_options *o)
{
    if (cse_trace_is_poison(logits) || cse_trace_is_poison(labels))
        return cse_cross_entropy_per_sample(logits, labels);
    if (!(o->label_smoothing >= 0 && o->label_smoothing <= 1))
        return cse_trace_fail(CSE_SHAPE, "cross_entropy: label_smoothing %g is outside [0, 1]",
                              o->label_smoothing);
    const int64_t classes = cse_row_length(logits->shape);
    if (o->class_weights != NULL && !cse_trace_is_poison(o->class_weights) &&
        !cse_shape_equal(o->class_weights->shape, cse_shape_of(classes)))
        return cse_trace_fail(CSE_SHAPE,
                              "cross_entropy: class_weights must be [%lld], one for each class",
                              (long long)classes);
    return NULL;
}

/** Cross entropy with the options of PyTorch's: logits [..., classes], int32 labels [...]; float32.
 * The mean is over the rows that count, each with the weight of its label: the sum of their losses
 * over the sum of their weights, both of the global batch (cse_loss_quotient), however it is cut
 * into microbatches; 0, as its gradients, where none counts (PyTorch: NaN). Labels out of range are
 * treated as by cse_cross_entropy_per_sample. `options` NULL: none. */
CSE_API cse_tensor *cse_cross_entropy_with(cse_tensor *logits, cse_tensor *labels,
                                           const cse_cross_entropy_options *options)
{
    const cse_cross_entropy_options defaults = { .reduction = CSE_REDUCTION_MEAN };
    rows r;
    options = options ? options : &defaults;
    cse_tensor *wrong = check(logits, labels, options);
    if (wrong != NULL)
        return wrong;
    cse_tensor *losses = row_losses(logits, labels, options, &r);
    return reduce_rows(losses, labels, &r, options->reduction);
}

/** The two sums whose quotient is the mean of cse_cross_entropy_with, float32 scalars of the
 * microbatch: sums[0] of the losses, sums[1] of the weights of the rows that count; for a program
 * that combines them by itself. */
CSE_API void cse_cross_entropy_sums(cse_tensor *logits, cse_tensor *labels,
                                    const cse_cross_entropy_options *options, cse_tensor *sums[2])
{
    const cse_cross_entropy_options defaults = { .reduction = CSE_REDUCTION_MEAN };
    rows r;
    options = options ? options : &defaults;
    sums[0] = sums[1] = check(logits, labels, options);
    if (sums[0] != NULL)
        return;
    sums[0] = sums[1] = row_losses(logits, labels, options, &r);
    if (cse_trace_is_poison(sums[0]))
        return;
    sums[0] = cse_sum_all(sums[0]);
    sums[1] = sum_of_weights(labels, &r);
}

/** Minus the log-probability at each label, with the options of cse_cross_entropy_with but for
 * label_smoothing: log_probabilities [..., classes], as from cse_log_softmax, int32 labels [...];
 * as PyTorch's nll_loss. */
CSE_API cse_tensor *cse_nll_loss(cse_tensor *log_probabilities, cse_tensor *labels,
                                 const cse_cross_entropy_options *options)
{
    const cse_cross_entropy_options defaults = { .reduction = CSE_REDUCTION_MEAN };
    options = options ? options : &defaults;
    cse_tensor *wrong = check(log_probabilities, labels, options);
    if (wrong != NULL)
        return wrong;
    if (options->label_smoothing != 0)
        return cse_trace_fail(CSE_SHAPE, "nll_loss: label_smoothing belongs to cross_entropy");
    rows r = count_rows(labels, options);
    cse_note_label_range(labels, cse_row_length(log_probabilities->shape), r.ignored);
    cse_shape column = labels->shape;
    column.dims[column.rank++] = 1;
    cse_tensor *picked =
        cse_take_along(in_float32(log_probabilities), cse_reshape(r.classes, column), -1);
    /* The logarithm of 0 in a row that does not count makes no NaN. */
    picked = cse_where(r.counted, cse_reshape(picked, labels->shape), cse_constant(0));
    cse_tensor *losses = cse_neg(r.weights != NULL ? cse_mul(picked, r.weights) : picked);
    return reduce_rows(losses, labels, &r, options->reduction);
}
