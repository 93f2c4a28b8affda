/* causal_mask: replaces the elements whose key comes after the query by a number.
 *
 * Works on the last two axes of x [..., query, key]: element (i, j) stays where j <= i. Indices are
 * compared where the element is read, so no mask is stored. Attributes: integers[0] the queries,
 * integers[1] the keys, numbers[0] the number in masked places. */
#include "engine/graph/op.h"
#include "engine/graph/trace/arguments.h"

/** x [..., query, key] with `fill` wherever key > query, like PyTorch's tril: query i keeps keys 0
 * to i. Before a softmax, choose a fill far below any score. */
CSE_API cse_tensor *cse_causal_mask(cse_tensor *x, double fill)
{
    cse_attributes attributes = { .integer_count = 2, .number_count = 1, .numbers = { fill } };
    if (!cse_trace_is_poison(x) && x->shape.rank >= 2) {
        attributes.integers[0] = x->shape.dims[x->shape.rank - 2];
        attributes.integers[1] = x->shape.dims[x->shape.rank - 1];
    }
    return cse_trace_1(&cse_op_causal_mask, &attributes, x);
}

/* Whether element (row, column) of the last two axes has column - row <= diagonal: [rows, columns].
 */
static cse_tensor *up_to_diagonal(const cse_tensor *x, int64_t diagonal)
{
    int64_t rows = x->shape.dims[x->shape.rank - 2], columns = x->shape.dims[x->shape.rank - 1];
    int64_t bound = diagonal > columns ? columns : diagonal < -rows ? -rows : diagonal;
    cse_tensor *row = cse_reshape(cse_iota(rows, (int32_t)bound, 1), cse_shape_of(rows, 1));
    return cse_less_equal(cse_iota(columns, 0, 1), row);
}

static cse_tensor *keep_triangle(cse_tensor *x, int64_t diagonal, bool lower)
{
    if (cse_trace_is_poison(x))
        return cse_trace_1(&cse_op_causal_mask, NULL, x);
    if (x->shape.rank < 2)
        return cse_trace_fail(CSE_SHAPE, "%s: the input must have two axes or more",
                              lower ? "tril" : "triu");
    cse_tensor *zero = cse_constant_like(x, 0);
    return lower ? cse_where(up_to_diagonal(x, diagonal), x, zero)
                 : cse_where(up_to_diagonal(x, diagonal - 1), zero, x);
}

/** The lower triangles of the last two axes of x [..., rows, columns], zeros elsewhere: columns up
 * to row + diagonal. As PyTorch's tril. */
CSE_API cse_tensor *cse_tril(cse_tensor *x, int64_t diagonal)
{
    return keep_triangle(x, diagonal, true);
}

/** The upper triangles: columns from row + diagonal on. As PyTorch's triu. */
CSE_API cse_tensor *cse_triu(cse_tensor *x, int64_t diagonal)
{
    return keep_triangle(x, diagonal, false);
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    cse_shape x = in->shapes[0];
    if (x.rank < 2 || x.dims[x.rank - 2] != in->attributes->integers[0] ||
        x.dims[x.rank - 1] != in->attributes->integers[1])
        return cse_fail(CSE_SHAPE, "the input must have two last axes [query, key]");
    return cse_infer_floats(in, shape, dtype);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    (void)node;
    gradients[0] = cse_causal_mask(output_gradient, 0);
}

static void reference(const cse_reference *call)
{
    const cse_tensor *node = call->node;
    const cse_attributes *attributes = &node->attributes;
    int64_t queries = attributes->integers[0], keys = attributes->integers[1];
    for (int64_t i = 0; i < cse_shape_elements(node->shape); i++) {
        bool seen = i % keys <= i / keys % queries;
        double value = seen ? cse_read_element(node->dtype, call->inputs[0], i)
                            : (double)(float)attributes->numbers[0];
        cse_write_element(node->dtype, call->output, i, value);
    }
}

const cse_op cse_op_causal_mask = {
    .name = "causal_mask",
    .summary = "elements of later keys than the query replaced by a number",
    .kind = CSE_OP_ELEMENTWISE,
    .precision = CSE_FAMILY_SENSITIVE,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = infer,
    .gradient = gradient,
    .reference = reference,
    .expression = "$i <= (int32_t)(($n - $i) / $a1 % $a0) ? $0 : $f0",
};
