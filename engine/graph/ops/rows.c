/* Rows: the last axis; see rows.h. */
#include "engine/graph/ops/rows.h"

#include <math.h>

int64_t cse_row_length(cse_shape shape)
{
    return shape.rank > 0 ? shape.dims[shape.rank - 1] : 1;
}

int64_t cse_row_count(cse_shape shape)
{
    shape.rank = shape.rank > 0 ? shape.rank - 1 : 0;
    return cse_shape_elements(shape);
}

cse_tensor *cse_row_sum(cse_tensor *x)
{
    return cse_sum(x, cse_axes(-1), true);
}

cse_tensor *cse_row_max(cse_tensor *x)
{
    return cse_max(x, cse_axes(-1), true);
}

cse_status cse_infer_rows(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    if (!cse_dtype_is_float(in->dtypes[0]))
        return cse_fail(CSE_SHAPE, "the input must be floats, not %s; cast it first",
                        cse_dtype_name(in->dtypes[0]));
    if (in->shapes[0].rank < 1 || cse_row_length(in->shapes[0]) < 1)
        return cse_fail(CSE_SHAPE, "the input must have a last axis that is not empty");
    *shape = in->shapes[0];
    *dtype = in->dtypes[0];
    return CSE_OK;
}

cse_tensor *cse_trace_along(const cse_op *op, cse_tensor *x, int axis)
{
    if (cse_trace_is_poison(x))
        return cse_trace_1(op, NULL, x);
    int rank = x->shape.rank, along = cse_axis(axis, rank), order[CSE_MAX_RANK];
    if (along < 0)
        return cse_trace_fail(CSE_SHAPE, "%s: axis %d is outside rank %d", op->name, axis, rank);
    if (along == rank - 1)
        return cse_trace_1(op, NULL, x);
    for (int i = 0; i < rank; i++)
        order[i] = i == along ? rank - 1 : i == rank - 1 ? along : i;
    return cse_transpose(cse_trace_1(op, NULL, cse_transpose(x, order, rank)), order, rank);
}

void cse_reference_row(const cse_reference *call, int64_t row, double *maximum, double *sum)
{
    const cse_tensor *input = call->node->inputs[0];
    int64_t length = cse_row_length(input->shape);
    *maximum = -INFINITY;
    *sum = 0;
    for (int64_t i = 0; i < length; i++)
        *maximum =
            fmax(*maximum, cse_read_element(input->dtype, call->inputs[0], row * length + i));
    for (int64_t i = 0; i < length; i++)
        *sum += exp(cse_read_element(input->dtype, call->inputs[0], row * length + i) - *maximum);
}
