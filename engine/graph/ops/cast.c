/* cast: the same values as another type.
 *
 * Attributes: integers[0] the cse_dtype of the result. */
#include "engine/graph/ops/elementwise.h"
#include "engine/graph/trace/identities.h"

/** x as `dtype`: rounded to nearest even between floats, toward zero to int32 (undefined beyond its
 * range), compared with 0 to bool. x itself when it has the type already. Differentiable between
 * floats. */
CSE_API cse_tensor *cse_cast(cse_tensor *x, cse_dtype dtype)
{
    if (!cse_trace_is_poison(x) && x->dtype == dtype)
        return x;
    const cse_attributes attributes = { .integer_count = 1, .integers = { (int64_t)dtype } };
    return cse_trace_1(&cse_op_cast, &attributes, x);
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    int64_t wanted = in->attributes->integers[0];
    if (wanted < 0 || wanted >= CSE_DTYPE_COUNT)
        return cse_fail(CSE_SHAPE, "%lld is no type", (long long)wanted);
    *shape = in->shapes[0];
    *dtype = (cse_dtype)wanted;
    return CSE_OK;
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    if (cse_dtype_is_float(node->dtype) && cse_dtype_is_float(node->inputs[0]->dtype))
        gradients[0] = cse_cast(output_gradient, node->inputs[0]->dtype);
}

static double value_of(double x)
{
    return x;
}

const cse_op cse_op_cast = {
    CSE_UNARY,
    .name = "cast",
    .summary = "the same values as another type",
    .role = CSE_OP_ROLE_CAST,
    .precision = CSE_FAMILY_CAST,
    .infer = infer,
    .gradient = gradient,
    .unary = value_of,
    .simplify = cse_drop_same_shape,
    .expression = "$0",
};
