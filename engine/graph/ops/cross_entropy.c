/* cross_entropy: the negative log-probability that softmax of a row of logits gives its label.
 *
 * Inputs: logits [..., classes] of floats, labels [...] of int32. The result [...] has one loss a
 * row: log(sum(exp(z))) - z[label] with z = x - maximum. */
#include <math.h>

#include "engine/graph/op.h"
#include "engine/graph/ops/losses.h"
#include "engine/graph/ops/rows.h"

/* Whether the rows are those of the tensors that both were reshaped from. */
static bool are_reshaped_rows(const cse_tensor *logits, const cse_tensor *labels)
{
    if (cse_trace_is_poison(logits) || cse_trace_is_poison(labels) ||
        logits->op->kind != CSE_OP_RESHAPE || labels->op->kind != CSE_OP_RESHAPE)
        return false;
    cse_shape now = logits->shape, before = logits->inputs[0]->shape;
    if (now.rank < 1 || before.rank < 1 || cse_row_length(now) != cse_row_length(before))
        return false;
    now.rank--;
    before.rank--;
    return cse_shape_equal(now, labels->shape) && cse_shape_equal(before, labels->inputs[0]->shape);
}

cse_tensor *cse_cross_entropy_ignoring(cse_tensor *logits, cse_tensor *labels, int32_t ignored)
{
    const cse_attributes attributes = { .integer_count = 1, .integers = { ignored } };
    /* PyTorch's programs merge batch and sequence to one axis, the engine's models do not: both are
     * one step. */
    if (are_reshaped_rows(logits, labels))
        return cse_reshape(
            cse_trace_2(&cse_op_cross_entropy, &attributes, logits->inputs[0], labels->inputs[0]),
            labels->shape);
    return cse_trace_2(&cse_op_cross_entropy, &attributes, logits, labels);
}

/** The loss of each row: logits [..., classes], int32 labels [...] give [...]. A row whose label is
 * -100 is ignored, as by PyTorch's cross_entropy with reduction "none": loss 0, gradient 0. Labels
 * that come straight from the data must else be from 0 below classes: another one ends the run with
 * its place in the data. Where they are computed, another one gives NaN. */
CSE_API cse_tensor *cse_cross_entropy_per_sample(cse_tensor *logits, cse_tensor *labels)
{
    return cse_cross_entropy_ignoring(logits, labels, CSE_DEFAULT_IGNORE_INDEX);
}

/** The mean of cse_cross_entropy_per_sample over the rows of the global batch that are not ignored,
 * as PyTorch's cross_entropy: cse_cross_entropy_with without options. */
CSE_API cse_tensor *cse_cross_entropy(cse_tensor *logits, cse_tensor *labels)
{
    return cse_cross_entropy_with(logits, labels, NULL);
}

/** The mean over rows of minus the log-probability at the label: log_probabilities [..., classes]
 * (as from cse_log_softmax), int32 labels [...]; a scalar: cse_nll_loss without options. */
CSE_API cse_tensor *cse_nll(cse_tensor *log_probabilities, cse_tensor *labels)
{
    return cse_nll_loss(log_probabilities, labels, NULL);
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    cse_shape lead;
    char text[128];
    CSE_TRY(cse_infer_rows(in, &lead, dtype));
    lead.rank--;
    if (in->dtypes[1] != CSE_INT32 || !cse_shape_equal(in->shapes[1], lead))
        return cse_fail(CSE_SHAPE, "labels must be int32 %s, one for each row of logits",
                        cse_shape_text(lead, text, sizeof text));
    *shape = lead;
    return CSE_OK;
}

static int32_t ignored_label(const cse_tensor *node)
{
    return node->attributes.integer_count > 0 ? (int32_t)node->attributes.integers[0]
                                              : CSE_DEFAULT_IGNORE_INDEX;
}

/* Labels as a column [..., 1]. */
static cse_tensor *label_column(cse_tensor *node)
{
    cse_shape column = node->inputs[0]->shape;
    column.dims[column.rank - 1] = 1;
    return cse_reshape(node->inputs[1], column);
}

/* `value` of the rows that count, 0 of those that are ignored, NaN where the label is no class. */
static cse_tensor *of_counted(cse_tensor *node, cse_tensor *labels, cse_tensor *value)
{
    const int32_t classes = (int32_t)cse_row_length(node->inputs[0]->shape);
    cse_tensor *valid = cse_logical_and(cse_greater_equal(labels, cse_constant_int(0)),
                                        cse_less(labels, cse_constant_int(classes)));
    cse_tensor *ignored = cse_equal(labels, cse_constant_int(ignored_label(node)));
    value = cse_where(valid, value, cse_constant_like(value, NAN));
    return cse_where(ignored, cse_constant_like(value, 0), value);
}

static cse_tensor *expand(cse_tensor *node)
{
    cse_tensor *x = node->inputs[0];
    cse_tensor *places = cse_one_hot(node->inputs[1], cse_row_length(x->shape));
    cse_tensor *below = cse_sub(x, cse_row_max(x));
    cse_tensor *picked = cse_row_sum(cse_mul(below, cse_cast(places, x->dtype)));
    cse_tensor *loss = cse_sub(cse_log(cse_row_sum(cse_exp(below))), picked);
    return cse_reshape(of_counted(node, label_column(node), loss), node->shape);
}

/* (softmax - one_hot) * dy, a row at a time. */
static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    cse_tensor *x = node->inputs[0], *labels = label_column(node);
    cse_tensor *places = cse_one_hot(node->inputs[1], cse_row_length(x->shape));
    cse_tensor *column = cse_reshape(output_gradient, labels->shape);
    cse_tensor *off = cse_sub(cse_softmax(x, -1), cse_cast(places, x->dtype));
    gradients[0] = cse_mul(off, of_counted(node, labels, column));
}

static int64_t class_count(const cse_tensor *node)
{
    return cse_row_length(node->inputs[0]->shape);
}

static void reference(const cse_reference *call)
{
    const cse_tensor *x = call->node->inputs[0];
    int64_t rows = cse_row_count(x->shape), length = cse_row_length(x->shape);
    const int32_t *labels = call->inputs[1];
    for (int64_t row = 0; row < rows; row++) {
        double maximum, sum, loss = labels[row] == ignored_label(call->node) ? 0 : NAN;
        cse_reference_row(call, row, &maximum, &sum);
        if (loss != 0 && labels[row] >= 0 && labels[row] < length)
            loss = log(sum) + maximum -
                   cse_read_element(x->dtype, call->inputs[0], row * length + labels[row]);
        cse_write_element(call->node->dtype, call->output, row, loss);
    }
}

const cse_op cse_op_cross_entropy = {
    .name = "cross_entropy",
    .summary = "the negative log-probability of each row's label under softmax",
    .kind = CSE_OP_COMPOSITE,
    .precision = CSE_FAMILY_LOSS,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer,
    .gradient = gradient,
    .reference = reference,
    .indices = { .count = class_count, .name = "the number of classes", .ignored = ignored_label },
    .expand = expand,
};
