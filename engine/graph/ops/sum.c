/* sum: over some axes or all; and the mean, which is a sum times a factor.
 *
 * Attributes: integers[0] whether reduced axes stay as sizes of 1, then the axes, ascending. */
#include "engine/graph/op.h"
#include "engine/graph/trace/accumulate.h"

/** The sum over the given axes (negative: from the end; none: all axes). `keep_dims` keeps them
 * with size 1. */
CSE_API cse_tensor *cse_sum(cse_tensor *x, const int axes[], int axis_count, bool keep_dims)
{
    /* Elements are added in their order in memory, whatever the shape: a network that flattens its
     * losses before it adds them is the same step as one that does not. */
    if (axis_count == 0 && !keep_dims && !cse_trace_is_poison(x))
        x = cse_node_storage(x);
    return cse_trace_reduce(&cse_op_sum, x, axes, axis_count, keep_dims);
}

/** The sum of all elements: a scalar. */
CSE_API cse_tensor *cse_sum_all(cse_tensor *x)
{
    return cse_sum(x, NULL, 0, false);
}

/** The mean over the named axes, as cse_sum; floats. */
CSE_API cse_tensor *cse_mean(cse_tensor *x, const int axes[], int axis_count, bool keep_dims)
{
    cse_tensor *sum = cse_sum(x, axes, axis_count, keep_dims);
    if (cse_trace_is_poison(sum))
        return sum;
    double count = (double)cse_shape_elements(x->shape) / (double)cse_shape_elements(sum->shape);
    return cse_scale(sum, 1 / count);
}

/** The mean of all elements: a scalar. */
CSE_API cse_tensor *cse_mean_all(cse_tensor *x)
{
    return cse_mean(x, NULL, 0, false);
}

/** The mean of the squares about the mean over the axes, as cse_sum names them, times
 * count / (count - correction): correction 1 is PyTorch's default, 0 the variance of what is
 * there. */
CSE_API cse_tensor *cse_var(cse_tensor *x, const int axes[], int axis_count, int64_t correction,
                            bool keep_dims)
{
    cse_tensor *off = cse_sub(x, cse_mean(x, axes, axis_count, true));
    cse_tensor *sum = cse_sum(cse_square(off), axes, axis_count, keep_dims);
    if (cse_trace_is_poison(sum))
        return sum;
    int64_t count = cse_shape_elements(x->shape) / cse_shape_elements(sum->shape);
    if (correction >= count)
        return cse_trace_fail(CSE_SHAPE, "var: correction %lld of %lld elements; accepted: fewer",
                              (long long)correction, (long long)count);
    return cse_scale(sum, 1 / (double)(count - correction));
}

/** The square root of cse_var. */
CSE_API cse_tensor *cse_std(cse_tensor *x, const int axes[], int axis_count, int64_t correction,
                            bool keep_dims)
{
    return cse_sqrt(cse_var(x, axes, axis_count, correction, keep_dims));
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    cse_tensor *kept = cse_reshape(output_gradient, cse_reduce_kept_shape(node));
    gradients[0] = cse_broadcast_to(kept, node->inputs[0]->shape);
}

static double combine(double accumulator, double value)
{
    return accumulator + value;
}

static void reference(const cse_reference *call)
{
    if (cse_node_is_tiled(call->node))
        cse_reference_tiled_sum(call);
    else
        cse_reference_reduce(call, 0, combine);
}

/* Marks the reduced axes. Returns the first axis of the trailing run of reduced axes, or the rank.
 */
static int tail_axis(const cse_tensor *node, bool reduced[CSE_MAX_RANK])
{
    cse_shape shape = node->inputs[0]->shape;
    for (int i = 0; i < shape.rank; i++)
        reduced[i] = false;
    for (int i = 1; i < node->attributes.integer_count; i++)
        reduced[node->attributes.integers[i]] = true;
    int tail = shape.rank;
    while (tail > 0 && reduced[tail - 1])
        tail--;
    return tail;
}

/* A sum over the last axes and some earlier ones, as for a convolution's bias gradient: each
 * contiguous run is summed in float vector lanes, the runs are added in double. */
static void emit_tail_sum(cse_text *out, const cse_tensor *node, const bool reduced[], int tail)
{
    cse_shape shape = node->inputs[0]->shape;
    int64_t strides[CSE_MAX_RANK], run = 1;
    cse_shape_strides(shape, strides);
    for (int i = tail; i < shape.rank; i++)
        run *= shape.dims[i];
    cse_text_add(out, "    int64_t next = 0;\n");
    for (int outer = 1; outer >= 0; outer--) {
        for (int i = 0; i < tail; i++)
            if (reduced[i] != (outer == 1))
                cse_text_add(out, "    for (int64_t i%d = 0; i%d < %lld; i%d++)\n", i, i,
                             (long long)shape.dims[i], i);
        cse_text_add(out, outer ? "    {\n    double total = 0;\n" : "    {\n");
    }
    cse_text_add(out, "        const float *const run = &x0[0");
    for (int i = 0; i < tail; i++)
        cse_text_add(out, " + i%d * %lld", i, (long long)strides[i]);
    cse_text_add(out,
                 "];\n        float part = 0;\n#pragma omp simd reduction(+ : part)\n"
                 "        for (int64_t c = 0; c < %lld; c++)\n            part += run[c];\n"
                 "        total += part;\n    }\n    y[next++] = (float)total;\n    }\n",
                 (long long)run);
}

static void emit(cse_text *out, const cse_tensor *node)
{
    bool reduced[CSE_MAX_RANK];
    const int tail = tail_axis(node, reduced);
    if (cse_node_is_tiled(node))
        cse_emit_tiled_sum(out, node);
    else if (node->dtype == CSE_FLOAT32 && tail < node->inputs[0]->shape.rank)
        emit_tail_sum(out, node, reduced, tail);
    else
        cse_emit_reduce(out, node, "0", "accumulator += value;");
}

static int64_t summed_terms(const cse_tensor *node)
{
    int64_t made = cse_shape_elements(node->shape);
    return made > 0 ? cse_shape_elements(node->inputs[0]->shape) / made : 1;
}

const cse_op cse_op_sum = {
    .name = "sum",
    .summary = "the sum over some axes or all",
    .kind = CSE_OP_REDUCE,
    .role = CSE_OP_ROLE_SUM,
    .precision = CSE_FAMILY_REDUCTION,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = cse_infer_reduce,
    .gradient = gradient,
    .reference = reference,
    .summed_terms = summed_terms,
    .expression = "$0 + $1",
    .initial = 0,
    .emit = emit,
};
