/* transpose: the axes in another order.
 *
 * Attributes: integers[i] is the input's axis that becomes axis i. */
#include "engine/graph/op.h"
#include "engine/graph/trace/arguments.h"

/** x with its axes permuted: axis i of the result is axis axes[i] of x (negative: from the end).
 * Each axis must be given once. */
CSE_API cse_tensor *cse_transpose(cse_tensor *x, const int axes[], int axis_count)
{
    cse_attributes attributes = { .integer_count = 0 };
    if (!cse_trace_is_poison(x))
        for (int i = 0; i < axis_count && i < CSE_MAX_RANK; i++)
            attributes.integers[attributes.integer_count++] = cse_axis(axes[i], x->shape.rank);
    return cse_trace_1(&cse_op_transpose, &attributes, x);
}

/* x [batch, ...] under the six axes `parts` after its batch axis is cut up, permuted by `axes`, and
 * then of shape `made`. */
static cse_tensor *rearrange(cse_tensor *x, cse_shape parts, const int axes[], cse_shape made)
{
    return cse_reshape(cse_transpose(cse_reshape(x, parts), axes, parts.rank), made);
}

/** x [batch, channel * factor^2, height, width] as [batch, channel, height * factor, width *
 * factor], as PyTorch's pixel_shuffle (Shi et al. 2016). */
CSE_API cse_tensor *cse_pixel_shuffle(cse_tensor *x, int64_t factor)
{
    if (cse_trace_is_poison(x))
        return cse_trace_1(&cse_op_transpose, NULL, x);
    const int64_t *d = x->shape.dims, f = factor;
    if (x->shape.rank != 4 || f < 1 || d[1] % (f * f) != 0)
        return cse_trace_fail(CSE_SHAPE, "pixel_shuffle: x must be [batch, channel, height, width] "
                                         "with channels divisible by the factor's square");
    return rearrange(x, cse_shape_of(d[0], d[1] / (f * f), f, f, d[2], d[3]),
                     (const int[]){ 0, 1, 4, 2, 5, 3 },
                     cse_shape_of(d[0], d[1] / (f * f), d[2] * f, d[3] * f));
}

/** The inverse of cse_pixel_shuffle: x [batch, channel, height, width] as [batch, channel *
 * factor^2, height / factor, width / factor]. */
CSE_API cse_tensor *cse_pixel_unshuffle(cse_tensor *x, int64_t factor)
{
    if (cse_trace_is_poison(x))
        return cse_trace_1(&cse_op_transpose, NULL, x);
    const int64_t *d = x->shape.dims, f = factor;
    if (x->shape.rank != 4 || f < 1 || d[2] % f != 0 || d[3] % f != 0)
        return cse_trace_fail(CSE_SHAPE,
                              "pixel_unshuffle: x must be [batch, channel, height, width] with "
                              "height and width divisible by the factor");
    return rearrange(x, cse_shape_of(d[0], d[1], d[2] / f, f, d[3] / f, f),
                     (const int[]){ 0, 1, 3, 5, 2, 4 },
                     cse_shape_of(d[0], d[1] * f * f, d[2] / f, d[3] / f));
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    bool named[CSE_MAX_RANK] = { false };
    bool fits = in->attributes->integer_count == in->shapes[0].rank;
    shape->rank = in->shapes[0].rank;
    for (int i = 0; fits && i < shape->rank; i++) {
        int64_t axis = in->attributes->integers[i];
        fits = axis >= 0 && axis < shape->rank && !named[axis];
        if (fits) {
            named[axis] = true;
            shape->dims[i] = in->shapes[0].dims[axis];
        }
    }
    *dtype = in->dtypes[0];
    return fits ? CSE_OK
                : cse_fail(CSE_SHAPE, "each of the %d axes must be named once", in->shapes[0].rank);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    int inverse[CSE_MAX_RANK];
    for (int i = 0; i < node->shape.rank; i++)
        inverse[node->attributes.integers[i]] = i;
    gradients[0] = cse_transpose(output_gradient, inverse, node->shape.rank);
}

static cse_walk walk_of(const cse_tensor *node)
{
    cse_walk walk = { .shape = node->shape };
    int64_t strides[CSE_MAX_RANK];
    cse_shape_strides(node->inputs[0]->shape, strides);
    cse_shape_strides(node->shape, walk.target_strides);
    for (int i = 0; i < node->shape.rank; i++)
        walk.source_strides[i] = strides[node->attributes.integers[i]];
    return walk;
}

static void reference(const cse_reference *call)
{
    cse_walk walk = walk_of(call->node);
    cse_walk_copy(&walk, call->inputs[0], call->output, cse_dtype_size(call->node->dtype));
}

static void emit(cse_text *out, const cse_tensor *node)
{
    cse_walk walk = walk_of(node);
    cse_walk_emit(out, &walk, "x0");
}

/* The identity, and the inverse of the transpose that it reads. */
static cse_tensor *simplify(cse_tensor *node)
{
    bool identity = true, inverse = node->inputs[0]->op == &cse_op_transpose;
    for (int i = 0; i < node->shape.rank; i++) {
        int64_t axis = node->attributes.integers[i];
        identity = identity && axis == i;
        inverse = inverse && node->inputs[0]->attributes.integers[axis] == i;
    }
    if (identity)
        return node->inputs[0];
    return inverse ? node->inputs[0]->inputs[0] : NULL;
}

static bool is_matrix_transpose(const cse_tensor *node)
{
    int rank = node->shape.rank;
    if (rank < 2)
        return false;
    bool matrix = node->attributes.integers[rank - 1] == rank - 2 &&
                  node->attributes.integers[rank - 2] == rank - 1;
    for (int i = 0; i < rank - 2; i++)
        matrix = matrix && node->attributes.integers[i] == i;
    return matrix;
}

const cse_op cse_op_transpose = {
    .name = "transpose",
    .summary = "the axes in another order",
    .kind = CSE_OP_BLOCK,
    .precision = CSE_FAMILY_MOVEMENT,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = infer,
    .gradient = gradient,
    .reference = reference,
    .simplify = simplify,
    .is_matrix_transpose = is_matrix_transpose,
    .emit = emit,
};
