/* one_hot: a 1 at each label's place in a row of zeros.
 *
 * The input is the labels broadcast along the last axis; the output's element is 1 where its index
 * along that axis equals the label. */
#include "engine/graph/op.h"
#include "engine/graph/trace/arguments.h"

/** [..., classes] float32 from int32 labels [...]: 1 at the label's place, else 0. A label outside
 * [0, classes) gives a row of zeros. */
CSE_API cse_tensor *cse_one_hot(cse_tensor *labels, int64_t classes)
{
    if (cse_trace_is_poison(labels))
        return cse_trace_1(&cse_op_one_hot, NULL, labels);
    cse_shape column = labels->shape;
    if (column.rank == CSE_MAX_RANK || classes < 1)
        return cse_trace_fail(CSE_SHAPE,
                              "one_hot: labels of rank %d and %lld classes; accepted: at "
                              "most rank %d, at least 1 class",
                              column.rank, (long long)classes, CSE_MAX_RANK - 1);
    column.dims[column.rank++] = 1;
    cse_shape rows = column;
    rows.dims[rows.rank - 1] = classes;
    return cse_trace_1(&cse_op_one_hot, NULL, cse_broadcast_to(cse_reshape(labels, column), rows));
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    if (in->dtypes[0] != CSE_INT32 || in->shapes[0].rank < 1)
        return cse_fail(CSE_SHAPE, "labels must be int32, not %s; cast them first",
                        cse_dtype_name(in->dtypes[0]));
    *shape = in->shapes[0];
    *dtype = CSE_FLOAT32;
    return CSE_OK;
}

static void reference(const cse_reference *call)
{
    cse_shape shape = call->node->shape;
    int64_t count = cse_shape_elements(shape), classes = shape.dims[shape.rank - 1];
    const int32_t *labels = call->inputs[0];
    float *y = call->output;
    for (int64_t i = 0; i < count; i++)
        y[i] = labels[i] == i % classes ? 1.0f : 0.0f;
}

const cse_op cse_op_one_hot = {
    .name = "one_hot",
    .summary = "a 1 at each label's place in a row of zeros",
    .kind = CSE_OP_ELEMENTWISE,
    .precision = CSE_FAMILY_FLOAT32,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = infer,
    .reference = reference,
    .expression = "$0 == $i ? 1.0f : 0.0f",
};
