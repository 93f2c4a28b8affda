/* iota: whole numbers in a row.
 *
 * The input gives the shape alone. Attributes: integers[0] the first number, integers[1] the step
 * from one to the next along the last axis. */
#include "engine/graph/op.h"
#include "engine/graph/trace/arguments.h"

/** int32 [count]: start, start + step, start + 2 step, ... (NumPy's arange, XLA's iota), for
 * positions, rotary angles and masks. Wraps beyond int32. */
CSE_API cse_tensor *cse_iota(int64_t count, int32_t start, int32_t step)
{
    const cse_attributes attributes = { .integer_count = 2, .integers = { start, step } };
    if (count < 1)
        return cse_trace_fail(CSE_SHAPE, "iota: %lld numbers; accepted: at least 1",
                              (long long)count);
    return cse_trace_1(&cse_op_iota, &attributes,
                       cse_broadcast_to(cse_constant_int(0), cse_shape_of(count)));
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    if (in->dtypes[0] != CSE_INT32 || in->shapes[0].rank < 1)
        return cse_fail(CSE_SHAPE,
                        "the input that gives the shape must be int32 of rank 1 or more");
    *shape = in->shapes[0];
    *dtype = CSE_INT32;
    return CSE_OK;
}

static void reference(const cse_reference *call)
{
    const int64_t *integers = call->node->attributes.integers;
    cse_shape shape = call->node->shape;
    int64_t count = cse_shape_elements(shape), row = shape.dims[shape.rank - 1];
    int32_t *y = call->output;
    for (int64_t i = 0; i < count; i++)
        y[i] = (int32_t)(uint32_t)(integers[0] + integers[1] * (i % row));
}

const cse_op cse_op_iota = {
    .name = "iota",
    .summary = "whole numbers in a row",
    .kind = CSE_OP_ELEMENTWISE,
    .precision = CSE_FAMILY_CAST,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = infer,
    .reference = reference,
    .expression = "(int32_t)((uint32_t)$a0 + (uint32_t)$a1 * (uint32_t)$i)",
};
