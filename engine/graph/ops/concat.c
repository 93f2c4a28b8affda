/* concat: tensors laid one after the other along an axis.
 *
 * Attributes: integers[0] the axis. */
#include <stdlib.h>

#include "engine/graph/op.h"
#include "engine/graph/trace/arguments.h"

/* A node has a bounded number of inputs: more are laid together in several steps. */
static cse_tensor *concat_in_steps(cse_tensor *const tensors[], int count, int axis)
{
    int parts = (count + CSE_MAX_INPUTS - 1) / CSE_MAX_INPUTS;
    cse_tensor **made = cse_calloc((size_t)parts, sizeof *made);
    for (int i = 0; i < parts; i++) {
        int first = i * CSE_MAX_INPUTS, left = count - first;
        made[i] = cse_concat(tensors + first, left < CSE_MAX_INPUTS ? left : CSE_MAX_INPUTS, axis);
    }
    cse_tensor *whole = cse_concat(made, parts, axis);
    free(made);
    return whole;
}

/** The `count` tensors (at least 1) one after the other along `axis` (negative: from the end);
 * their other sizes and their types are the same. */
CSE_API cse_tensor *cse_concat(cse_tensor *const tensors[], int count, int axis)
{
    cse_attributes attributes = { .integer_count = 1 };
    if (count > CSE_MAX_INPUTS)
        return concat_in_steps(tensors, count, axis);
    if (count > 0 && !cse_trace_is_poison(tensors[0]))
        attributes.integers[0] = cse_axis(axis, tensors[0]->shape.rank);
    return cse_trace(&cse_op_concat, &attributes, count, tensors);
}

/** The `count` tensors (at least 1), all of one shape and type, one after the other along a new
 * axis, which becomes axis `axis` of the result (negative: from its end). */
CSE_API cse_tensor *cse_stack(cse_tensor *const tensors[], int count, int axis)
{
    if (count < 1 || cse_trace_is_poison(tensors[0]))
        return cse_trace(&cse_op_concat, NULL, count, tensors);
    cse_shape shape = tensors[0]->shape;
    int rank = shape.rank + 1, along = cse_axis(axis, rank);
    if (along < 0 || rank > CSE_MAX_RANK)
        return cse_trace_fail(CSE_SHAPE, "stack: axis %d is outside rank %d, or that is above %d",
                              axis, rank, CSE_MAX_RANK);
    cse_tensor **raised = cse_calloc((size_t)count, sizeof *raised);
    shape.rank = rank;
    for (int i = rank - 1; i >= along; i--)
        shape.dims[i] = i > along ? shape.dims[i - 1] : 1;
    for (int i = 0; i < count; i++)
        raised[i] = cse_reshape(tensors[i], shape);
    cse_tensor *whole = cse_concat(raised, count, along);
    free(raised);
    return whole;
}

/** x with its elements moved by `shift` places along `axis` (both negative: from the end); those
 * that leave at one end come in at the other, as in PyTorch's and NumPy's roll. */
CSE_API cse_tensor *cse_roll(cse_tensor *x, int axis, int64_t shift)
{
    if (cse_trace_is_poison(x))
        return cse_trace_1(&cse_op_concat, NULL, x);
    int along = cse_axis(axis, x->shape.rank);
    if (along < 0)
        return cse_trace_fail(CSE_SHAPE, "roll: axis %d is outside rank %d", axis, x->shape.rank);
    int64_t size = x->shape.dims[along];
    int64_t cut = size > 0 ? ((shift % size) + size) % size : 0;
    if (cut == 0)
        return x;
    cse_tensor *parts[] = { cse_slice_axis(x, along, size - cut, size),
                            cse_slice_axis(x, along, 0, size - cut) };
    return cse_concat(parts, 2, along);
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    int64_t axis = in->attributes->integers[0], length = 0;
    *shape = in->shapes[0];
    *dtype = in->dtypes[0];
    if (axis < 0 || axis >= shape->rank)
        return cse_fail(CSE_SHAPE, "the axis must be one of the first input's");
    for (int i = 0; i < in->input_count; i++) {
        cse_shape other = in->shapes[i];
        if (other.rank == shape->rank) {
            length += other.dims[axis];
            other.dims[axis] = shape->dims[axis];
        }
        if (!cse_shape_equal(other, *shape) || in->dtypes[i] != *dtype)
            return cse_fail(CSE_SHAPE,
                            "input %d must have the first one's type and sizes, but for "
                            "axis %lld",
                            i, (long long)axis);
    }
    shape->dims[axis] = length;
    return CSE_OK;
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    int axis = (int)node->attributes.integers[0];
    int64_t start = 0;
    for (int i = 0; i < node->input_count; i++) {
        int64_t stop = start + node->inputs[i]->shape.dims[axis];
        gradients[i] = cse_slice_axis(output_gradient, axis, start, stop);
        start = stop;
    }
}

/* The copy of input `number` to its part of the output. */
static cse_walk walk_of(const cse_tensor *node, int number)
{
    cse_walk walk = { .shape = node->inputs[number]->shape };
    int64_t axis = node->attributes.integers[0];
    cse_shape_strides(walk.shape, walk.source_strides);
    cse_shape_strides(node->shape, walk.target_strides);
    for (int i = 0; i < number; i++)
        walk.target_offset += node->inputs[i]->shape.dims[axis] * walk.target_strides[axis];
    return walk;
}

static void reference(const cse_reference *call)
{
    for (int i = 0; i < call->node->input_count; i++) {
        cse_walk walk = walk_of(call->node, i);
        cse_walk_copy(&walk, call->inputs[i], call->output, cse_dtype_size(call->node->dtype));
    }
}

static void emit(cse_text *out, const cse_tensor *node)
{
    for (int i = 0; i < node->input_count; i++) {
        char source[8] = { 'x', (char)(i < 10 ? '0' + i : '1'), i < 10 ? 0 : (char)('0' + i - 10) };
        cse_walk walk = walk_of(node, i);
        cse_walk_emit(out, &walk, source);
    }
}

const cse_op cse_op_concat = {
    .name = "concat",
    .summary = "tensors laid one after the other along an axis",
    .kind = CSE_OP_BLOCK,
    .precision = CSE_FAMILY_MOVEMENT,
    .min_inputs = 1,
    .max_inputs = CSE_MAX_INPUTS,
    .infer = infer,
    .gradient = gradient,
    .reference = reference,
    .emit = emit,
};
