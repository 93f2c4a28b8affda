/* Ops along one axis; see along.h. */
#include "engine/graph/ops/along.h"

cse_along cse_along_axis(cse_shape shape, int64_t axis)
{
    cse_along along = { 1, shape.dims[axis], 1 };
    for (int i = 0; i < shape.rank; i++)
        if (i < axis)
            along.before *= shape.dims[i];
        else if (i > axis)
            along.after *= shape.dims[i];
    return along;
}

cse_tensor *cse_trace_on_axis(const cse_op *op, cse_tensor *x, int axis, int64_t more)
{
    cse_attributes attributes = { .integer_count = 2, .integers = { 0, more } };
    if (!cse_trace_is_poison(x))
        attributes.integers[0] = cse_axis(axis, x->shape.rank);
    return cse_trace_1(op, &attributes, x);
}

cse_status cse_infer_on_axis(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    int64_t axis = in->attributes->integers[0];
    if (axis < 0 || axis >= in->shapes[0].rank)
        return cse_fail(CSE_SHAPE, "the axis must be one of the input's %d", in->shapes[0].rank);
    if (in->dtypes[0] == CSE_BOOL)
        return cse_fail(CSE_SHAPE, "the input must be numbers, not bool; cast it first");
    *shape = in->shapes[0];
    *dtype = in->dtypes[0];
    return CSE_OK;
}

cse_status cse_infer_indices_on_axis(const cse_infer *in)
{
    int64_t axis = in->attributes->integers[0];
    cse_shape other = in->shapes[1];
    char text[128];
    if (other.rank == in->shapes[0].rank)
        other.dims[axis] = in->shapes[0].dims[axis];
    if (in->dtypes[1] != CSE_INT32 || !cse_shape_equal(other, in->shapes[0]))
        return cse_fail(CSE_SHAPE, "the indices must be int32 with the sizes %s, but for axis %lld",
                        cse_shape_text(in->shapes[0], text, sizeof text), (long long)axis);
    return CSE_OK;
}
