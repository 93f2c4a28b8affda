/* Losses that are a few other ops each, in float32 whatever the type of their arguments; see
 * losses.h. */
#include "engine/ops/losses.h"

#include "engine/trace/rows.h"

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

/* Rows of a loss of classes: which count, each one's weight (0 where it does not), its class (0
 * where it does not), and the labels that cross_entropy is to see. */
typedef struct rows {
    cse_tensor *counted, *weights, *classes, *labels;
} rows;

static rows count_rows(cse_tensor *labels, int64_t classes, const cse_cross_entropy_options *o)
{
    cse_tensor *counted = cse_logical_and(cse_greater_equal(labels, cse_constant_int(0)),
                                          cse_less(labels, cse_constant_int((int32_t)classes)));
    rows r = { .labels = labels };
    if (o->has_ignore_index)
        counted =
            cse_logical_and(counted, cse_not_equal(labels, cse_constant_int(o->ignore_index)));
    /* A label that is no class would be refused where it comes straight from the data. */
    if (o->has_ignore_index && o->ignore_index >= classes)
        r.labels = cse_where(counted, labels, cse_constant_int(-1));
    r.counted = counted;
    r.classes = cse_where(counted, labels, cse_constant_int(0));
    r.weights = cse_cast(counted, CSE_FLOAT32);
    if (o->class_weights != NULL)
        r.weights = cse_where(counted, cse_gather(in_float32(o->class_weights), r.classes),
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
    *r = count_rows(labels, classes, o);
    cse_tensor *loss = cse_mul(cse_cross_entropy_per_sample(scores, r->labels), r->weights);
    if (smoothing == 0)
        return loss;
    cse_tensor *smooth = cse_scale(smoothing_loss(scores, r, o), smoothing / (double)classes);
    return cse_add(cse_scale(loss, 1 - smoothing), smooth);
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
 * over the sum of their weights; 0 where no row of the microbatch counts (PyTorch: NaN). A label
 * below 0 never counts. `options` NULL: none. The mean of several microbatches' means is not that
 * of the whole batch, unless all count alike: see cse_cross_entropy_sums. */
CSE_API cse_tensor *cse_cross_entropy_with(cse_tensor *logits, cse_tensor *labels,
                                           const cse_cross_entropy_options *options)
{
    const cse_cross_entropy_options defaults = { .reduction = CSE_REDUCTION_MEAN };
    rows r;
    options = options ? options : &defaults;
    cse_tensor *sums[2], *wrong = check(logits, labels, options);
    if (wrong != NULL)
        return wrong;
    if (options->reduction != CSE_REDUCTION_MEAN)
        return cse_reduce_losses(row_losses(logits, labels, options, &r), options->reduction);
    cse_cross_entropy_sums(logits, labels, options, sums);
    cse_tensor *nothing = cse_equal(sums[1], cse_constant(0));
    return cse_div(sums[0], cse_where(nothing, cse_constant(1), sums[1]));
}

/** The two sums whose quotient is the mean of cse_cross_entropy_with, float32 scalars of the
 * microbatch: sums[0] of the losses, sums[1] of the weights of the rows that count. The mean over
 * the global batch, whatever the microbatches are, is cse_batch_sum(sums[0]) over
 * cse_batch_sum(sums[1]); its gradients are those of sums[0], as cse_gradients gives them, over
 * cse_batch_mean(sums[1]). */
CSE_API void cse_cross_entropy_sums(cse_tensor *logits, cse_tensor *labels,
                                    const cse_cross_entropy_options *options, cse_tensor *sums[2])
{
    const cse_cross_entropy_options defaults = { .reduction = CSE_REDUCTION_MEAN };
    rows r;
    options = options ? options : &defaults;
    sums[0] = sums[1] = check(logits, labels, options);
    if (sums[0] != NULL)
        return;
    sums[0] = cse_sum_all(row_losses(logits, labels, options, &r));
    sums[1] = cse_sum_all(r.weights);
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
    const int64_t classes = cse_row_length(log_probabilities->shape);
    rows r = count_rows(labels, classes, options);
    cse_shape column = labels->shape;
    column.dims[column.rank++] = 1;
    cse_tensor *picked =
        cse_take_along(in_float32(log_probabilities), cse_reshape(r.classes, column), -1);
    /* The logarithm of 0 in a row that does not count makes no NaN. */
    picked = cse_where(r.counted, cse_reshape(picked, labels->shape), cse_constant(0));
    cse_tensor *losses = cse_neg(cse_mul(picked, r.weights));
    if (options->reduction != CSE_REDUCTION_MEAN)
        return cse_reduce_losses(losses, options->reduction);
    cse_tensor *count = cse_sum_all(r.weights);
    cse_tensor *nothing = cse_equal(count, cse_constant(0));
    return cse_div(cse_sum_all(losses), cse_where(nothing, cse_constant(1), count));
}
