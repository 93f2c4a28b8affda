/* where: a choice between two tensors, element by element. */
#include "engine/graph/op.h"
#include "engine/graph/trace/arguments.h"

/** a where `condition` (a bool) holds, else b. The three broadcast; a and b have one type. The
 * gradient goes to the one that was chosen. */
CSE_API cse_tensor *cse_where(cse_tensor *condition, cse_tensor *a, cse_tensor *b)
{
    cse_tensor *inputs[3] = { condition, a, b };
    cse_shape common = cse_scalar_shape;
    bool fits = true;
    for (int i = 0; i < 3; i++) {
        if (cse_trace_is_poison(inputs[i]))
            return cse_trace(&cse_op_where, NULL, 3, inputs);
        fits = fits && cse_shape_broadcast(common, inputs[i]->shape, &common);
    }
    for (int i = 0; fits && i < 3; i++)
        if (!cse_shape_equal(inputs[i]->shape, common))
            inputs[i] = cse_broadcast_to(inputs[i], common);
    return cse_trace(&cse_op_where, NULL, 3, inputs);
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    if (in->dtypes[0] != CSE_BOOL)
        return cse_fail(CSE_SHAPE, "the condition must be bool, not %s; compare or cast it first",
                        cse_dtype_name(in->dtypes[0]));
    if (in->dtypes[1] != in->dtypes[2])
        return cse_fail(CSE_SHAPE, "both choices must have one type; cast one of them first");
    for (int i = 0; i < 2; i++)
        if (!cse_shape_equal(in->shapes[i], in->shapes[i + 1]))
            return cse_fail(CSE_SHAPE, "the shapes do not broadcast: aligned at the right, two "
                                       "sizes must be equal or one of them 1");
    *shape = in->shapes[1];
    *dtype = in->dtypes[1];
    return CSE_OK;
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    cse_tensor *zero = cse_constant_like(node, 0);
    gradients[1] = cse_where(node->inputs[0], output_gradient, zero);
    gradients[2] = cse_where(node->inputs[0], zero, output_gradient);
}

static void reference(const cse_reference *call)
{
    int64_t count = cse_shape_elements(call->node->shape);
    const unsigned char *condition = call->inputs[0];
    cse_dtype dtype = call->node->dtype;
    for (int64_t i = 0; i < count; i++) {
        const void *chosen = call->inputs[condition[i] ? 1 : 2];
        cse_write_element(dtype, call->output, i, cse_read_element(dtype, chosen, i));
    }
}

const cse_op cse_op_where = {
    .name = "where",
    .summary = "the second tensor where the first holds, else the third",
    .kind = CSE_OP_ELEMENTWISE,
    .role = CSE_OP_ROLE_SELECT,
    .precision = CSE_FAMILY_NEUTRAL,
    .min_inputs = 3,
    .max_inputs = 3,
    .infer = infer,
    .gradient = gradient,
    .reference = reference,
    .expression = "$0 ? $1 : $2",
};
