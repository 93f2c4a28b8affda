/* max: the largest element over some axes or all.
 *
 * Attributes: integers[0] whether reduced axes stay as sizes of 1, then the axes, ascending. */
#include <math.h>

#include "engine/graph/op.h"
#include "engine/graph/trace/arguments.h"

/** The largest element over the given axes (negative: from the end; none: all axes), NaN where one
 * is NaN; floats. `keep_dims` keeps the axes with size 1. Elements that equal the maximum share its
 * gradient equally, as in PyTorch's amax. */
CSE_API cse_tensor *cse_max(cse_tensor *x, const int axes[], int axis_count, bool keep_dims)
{
    return cse_trace_reduce(&cse_op_max, x, axes, axis_count, keep_dims);
}

/** The smallest element over the given axes, as cse_max gives the largest. */
CSE_API cse_tensor *cse_min(cse_tensor *x, const int axes[], int axis_count, bool keep_dims)
{
    return cse_neg(cse_max(cse_neg(x), axes, axis_count, keep_dims));
}

/** Whether any element over the given axes (negative: from the end; none: all axes) is not 0, or
 * true; a bool. */
CSE_API cse_tensor *cse_any(cse_tensor *x, const int axes[], int axis_count, bool keep_dims)
{
    cse_tensor *holds = cse_cast(cse_cast(x, CSE_BOOL), CSE_FLOAT32);
    return cse_cast(cse_max(holds, axes, axis_count, keep_dims), CSE_BOOL);
}

/** Whether all elements over the given axes (negative: from the end; none: all axes) are not 0, or
 * true; a bool. */
CSE_API cse_tensor *cse_all(cse_tensor *x, const int axes[], int axis_count, bool keep_dims)
{
    cse_tensor *lacks = cse_logical_not(cse_cast(x, CSE_BOOL));
    return cse_logical_not(cse_any(lacks, axes, axis_count, keep_dims));
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    if (!cse_dtype_is_float(in->dtypes[0]))
        return cse_fail(CSE_SHAPE, "the input must be floats, not %s; cast it first",
                        cse_dtype_name(in->dtypes[0]));
    return cse_infer_reduce(in, shape, dtype);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    cse_tensor *x = node->inputs[0];
    cse_shape kept = cse_reduce_kept_shape(node);
    int axes[CSE_MAX_RANK], count = 0;
    for (int i = 1; i < node->attributes.integer_count; i++)
        axes[count++] = (int)node->attributes.integers[i];
    cse_tensor *is_largest = cse_cast(cse_equal(x, cse_reshape(node, kept)), x->dtype);
    cse_tensor *ties = count ? cse_sum(is_largest, axes, count, true) : is_largest;
    cse_tensor *share = cse_div(cse_reshape(output_gradient, kept), ties);
    gradients[0] = cse_mul(is_largest, share);
}

static double combine(double accumulator, double value)
{
    return accumulator != accumulator || accumulator > value ? accumulator : value;
}

static void reference(const cse_reference *call)
{
    cse_reference_reduce(call, -INFINITY, combine);
}

static void emit(cse_text *out, const cse_tensor *node)
{
    cse_emit_reduce(out, node, "-__builtin_inff()",
                    "accumulator = accumulator != accumulator || accumulator > value ? accumulator "
                    ": value;");
}

const cse_op cse_op_max = {
    .name = "max",
    .summary = "the largest element over some axes or all",
    .kind = CSE_OP_REDUCE,
    .role = CSE_OP_ROLE_MAX,
    .precision = CSE_FAMILY_NEUTRAL,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = infer,
    .gradient = gradient,
    .reference = reference,
    .expression = "$0 != $0 || $0 > $1 ? $0 : $1",
    .initial = -INFINITY,
    .emit = emit,
};
