/* broadcast_to: a tensor repeated along some axes; also constants, the step number and the sample
 * index, which are usually broadcast.
 *
 * Attributes: integers are the sizes of the result. Dimensions are aligned at the right; a size of
 * 1 and a missing dimension are repeated. */
#include "engine/graph/op.h"
#include "engine/graph/trace/arguments.h"
#include "engine/graph/trace/identities.h"

/** x broadcast to `shape`: dimensions are aligned at the right, sizes of 1 and missing dimensions
 * are repeated. The gradient is the sum over the repeated axes. */
CSE_API cse_tensor *cse_broadcast_to(cse_tensor *x, cse_shape shape)
{
    if (!cse_trace_is_poison(x) && cse_shape_equal(x->shape, shape))
        return x;
    cse_attributes attributes = { .integer_count = 0 };
    cse_attributes_add_shape(&attributes, shape);
    return cse_trace_1(&cse_op_broadcast_to, &attributes, x);
}

/** x repeated counts[i] times along each axis i, one after the other: PyTorch's repeat, NumPy's
 * tile; one entry an axis. */
CSE_API cse_tensor *cse_repeat(cse_tensor *x, const int64_t counts[])
{
    if (cse_trace_is_poison(x))
        return cse_trace_1(&cse_op_broadcast_to, NULL, x);
    for (int axis = 0; axis < x->shape.rank && !cse_trace_is_poison(x); axis++) {
        cse_shape result = x->shape;
        int64_t before = 1, rest = 1;
        for (int i = 0; i < result.rank; i++)
            *(i < axis ? &before : &rest) *= result.dims[i];
        result.dims[axis] *= counts[axis];
        x = cse_reshape(x, cse_shape_of(before, 1, rest));
        x = cse_broadcast_to(x, cse_shape_of(before, counts[axis], rest));
        x = cse_reshape(x, result);
    }
    return x;
}

/** x with each element `count` times in a row along `axis` (negative: from the end): PyTorch's
 * repeat_interleave. */
CSE_API cse_tensor *cse_repeat_interleave(cse_tensor *x, int axis, int64_t count)
{
    if (cse_trace_is_poison(x))
        return cse_trace_1(&cse_op_broadcast_to, NULL, x);
    int along = cse_axis(axis, x->shape.rank);
    if (along < 0 || count < 1)
        return cse_trace_fail(CSE_SHAPE,
                              "repeat_interleave: axis %d of rank %d, %lld times; accepted: an "
                              "axis of x, at least once",
                              axis, x->shape.rank, (long long)count);
    cse_shape result = x->shape;
    int64_t before = 1, after = 1;
    for (int i = 0; i < result.rank; i++)
        *(i <= along ? &before : &after) *= result.dims[i];
    result.dims[along] *= count;
    x = cse_reshape(x, cse_shape_of(before, 1, after));
    return cse_reshape(cse_broadcast_to(x, cse_shape_of(before, count, after)), result);
}

/** A float32 scalar. */
CSE_API cse_tensor *cse_constant(double value)
{
    if (cse_trace_graph() == NULL)
        return NULL;
    return cse_graph_constant(cse_trace_graph(), CSE_FLOAT32, value);
}

/** An int32 scalar. */
CSE_API cse_tensor *cse_constant_int(int32_t value)
{
    if (cse_trace_graph() == NULL)
        return NULL;
    return cse_graph_constant(cse_trace_graph(), CSE_INT32, value);
}

/** A tensor of `shape`, each element the same number. */
CSE_API cse_tensor *cse_full(cse_shape shape, double value)
{
    return cse_broadcast_to(cse_constant(value), shape);
}

/** The number of the step, counted from 0 over the whole run: an int32 scalar. */
CSE_API cse_tensor *cse_step_number(void)
{
    cse_graph *graph = cse_trace_graph();
    if (graph == NULL)
        return NULL;
    return cse_graph_leaf(graph, &cse_op_step_number, NULL, cse_scalar_shape, CSE_INT32);
}

/** Each sample's position in the global batch: int32 [micro_batch_size]. */
CSE_API cse_tensor *cse_sample_index(void)
{
    cse_graph *graph = cse_trace_graph();
    if (graph == NULL)
        return NULL;
    return cse_graph_leaf(graph, &cse_op_sample_index, NULL, cse_shape_of(graph->micro_batch_size),
                          CSE_INT32);
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    cse_shape wanted = cse_attributes_shape(in->attributes, 0), common;
    char text[128];
    CSE_TRY(cse_check_size(wanted));
    if (!cse_shape_broadcast(in->shapes[0], wanted, &common) || !cse_shape_equal(common, wanted))
        return cse_fail(CSE_SHAPE,
                        "does not broadcast to %s: aligned at the right, each size must be equal "
                        "or 1",
                        cse_shape_text(wanted, text, sizeof text));
    *shape = wanted;
    *dtype = in->dtypes[0];
    return CSE_OK;
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    cse_shape from = node->inputs[0]->shape;
    int axes[CSE_MAX_RANK], count = 0, offset = node->shape.rank - from.rank;
    for (int i = 0; i < node->shape.rank; i++)
        if (i < offset || from.dims[i - offset] != node->shape.dims[i])
            axes[count++] = i;
    cse_tensor *sum = output_gradient;
    if (count > 0)
        sum = cse_sum(output_gradient, axes, count, false);
    gradients[0] = cse_reshape(sum, from);
}

static void reference(const cse_reference *call)
{
    const cse_tensor *node = call->node;
    cse_walk walk = { .shape = node->shape };
    cse_shape_broadcast_strides(node->inputs[0]->shape, node->shape, walk.source_strides);
    cse_shape_strides(node->shape, walk.target_strides);
    cse_walk_copy(&walk, call->inputs[0], call->output, cse_dtype_size(node->dtype));
}

const cse_op cse_op_broadcast_to = {
    .name = "broadcast_to",
    .summary = "a tensor repeated along axes of a larger shape",
    .kind = CSE_OP_BROADCAST,
    .precision = CSE_FAMILY_MOVEMENT,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = infer,
    .gradient = gradient,
    .reference = reference,
    .simplify = cse_drop_same_shape,
};
