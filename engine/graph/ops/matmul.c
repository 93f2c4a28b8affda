/* matmul: products of matrices, one for each index of the leading axes; and the linear layer.
 *
 * Attributes: integers[0] and integers[1] say whether a and b are read transposed (last two axes).
 * Both inputs have the same rank of at least 2 and the same leading sizes; the public function
 * reshapes and broadcasts them to that. A third input, which passes give, is float32 of the
 * result's shape: sums that go on from there, in the order of a product whose terms are those of
 * both. */
#include "engine/code/kernels/plan.h"
#include "engine/graph/op.h"
#include "engine/graph/trace/accumulate.h"

static cse_tensor *trace_product(cse_tensor *a, cse_tensor *b, bool transpose_a, bool transpose_b)
{
    const cse_attributes attributes = { .integer_count = 2,
                                        .integers = { transpose_a, transpose_b } };
    return cse_trace_2(&cse_op_matmul, &attributes, a, b);
}

/* [..., k] times one matrix is a single product over all rows, with a reshaped to [rows, k]. */
static cse_tensor *rows_times_matrix(cse_tensor *a, cse_tensor *b, bool transpose_b)
{
    cse_shape shape = a->shape;
    cse_tensor *rows = cse_reshape(a, cse_shape_of(-1, shape.dims[shape.rank - 1]));
    cse_tensor *product = trace_product(rows, b, false, transpose_b);
    if (cse_trace_is_poison(product))
        return product;
    shape.dims[shape.rank - 1] = product->shape.dims[1];
    return cse_reshape(product, shape);
}

/** The matrix product of the last two axes, [..., m, k] x [..., k, n] = [..., m, n]; `transpose_a`
 * and `transpose_b` read the operand as if its last two axes were exchanged. Leading axes
 * broadcast. Sums are accumulated in at least float32. */
CSE_API cse_tensor *cse_matmul(cse_tensor *a, cse_tensor *b, bool transpose_a, bool transpose_b)
{
    if (cse_trace_is_poison(a) || cse_trace_is_poison(b) || a->shape.rank < 2 || b->shape.rank < 2)
        return trace_product(a, b, transpose_a, transpose_b);
    if (a->shape.rank > 2 && b->shape.rank == 2 && !transpose_a)
        return rows_times_matrix(a, b, transpose_b);
    cse_shape lead_a = a->shape, lead_b = b->shape, lead;
    lead_a.rank -= 2;
    lead_b.rank -= 2;
    if (!cse_shape_broadcast(lead_a, lead_b, &lead))
        return trace_product(a, b, transpose_a, transpose_b);
    cse_shape shape_a = lead, shape_b = lead;
    for (int i = 0; i < 2; i++) {
        shape_a.dims[shape_a.rank++] = a->shape.dims[a->shape.rank - 2 + i];
        shape_b.dims[shape_b.rank++] = b->shape.dims[b->shape.rank - 2 + i];
    }
    return trace_product(cse_broadcast_to(a, shape_a), cse_broadcast_to(b, shape_b), transpose_a,
                         transpose_b);
}

/** A linear layer: x [..., in] times the transpose of weight [out, in], plus bias [out] (NULL:
 * none). */
CSE_API cse_tensor *cse_linear(cse_tensor *x, cse_tensor *weight, cse_tensor *bias)
{
    cse_tensor *product = cse_matmul(x, weight, false, true);
    return bias == NULL ? product : cse_add(product, bias);
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    cse_shape a = in->shapes[0], b = in->shapes[1];
    bool transpose_a = in->attributes->integers[0] != 0, transpose_b = in->attributes->integers[1];
    if (a.rank < 2 || b.rank < 2)
        return cse_fail(CSE_SHAPE, "both inputs must have at least two axes");
    if (in->dtypes[0] != in->dtypes[1] || !cse_dtype_is_float(in->dtypes[0]))
        return cse_fail(CSE_SHAPE, "both inputs must be floats of one type; cast them first");
    int64_t k_a = a.dims[a.rank - (transpose_a ? 2 : 1)];
    int64_t k_b = b.dims[b.rank - (transpose_b ? 1 : 2)];
    if (k_a != k_b)
        return cse_fail(CSE_SHAPE,
                        "the inner sizes differ: %lld (first input%s) and %lld (second input%s)",
                        (long long)k_a, transpose_a ? ", transposed" : "", (long long)k_b,
                        transpose_b ? ", transposed" : "");
    *shape = a;
    *dtype = in->dtypes[0];
    bool fits = a.rank == b.rank;
    for (int i = 0; fits && i < a.rank - 2; i++)
        fits = a.dims[i] == b.dims[i];
    if (!fits)
        return cse_fail(CSE_SHAPE, "the leading axes do not broadcast: aligned at the right, two "
                                   "sizes must be equal or one of them 1");
    shape->dims[a.rank - 2] = a.dims[a.rank - (transpose_a ? 1 : 2)];
    shape->dims[a.rank - 1] = b.dims[b.rank - (transpose_b ? 2 : 1)];
    if (in->input_count > 2 &&
        (in->dtypes[2] != CSE_FLOAT32 || !cse_shape_equal(in->shapes[2], *shape)))
        return cse_fail(CSE_SHAPE, "sums that go on must be float32 of the result's shape");
    return CSE_OK;
}

/* With C = A B: dA = dC B', dB = A' dC. The gradient of a transposed operand is transposed too. */
static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    cse_tensor *a = node->inputs[0], *b = node->inputs[1], *dc = output_gradient;
    bool transpose_a = node->attributes.integers[0] != 0;
    bool transpose_b = node->attributes.integers[1] != 0;
    gradients[0] = transpose_a ? trace_product(b, dc, transpose_b, true)
                               : trace_product(dc, b, false, !transpose_b);
    gradients[1] = transpose_b ? trace_product(dc, a, true, transpose_a)
                               : trace_product(a, dc, !transpose_a, false);
    if (node->input_count > 2)
        gradients[2] = dc;
}

static void reference(const cse_reference *call)
{
    const cse_tensor *node = call->node, *a = node->inputs[0], *b = node->inputs[1];
    int rank = node->shape.rank;
    bool transpose_a = node->attributes.integers[0] != 0;
    bool transpose_b = node->attributes.integers[1] != 0;
    int64_t m = node->shape.dims[rank - 2], n = node->shape.dims[rank - 1];
    int64_t k = a->shape.dims[rank - (transpose_a ? 2 : 1)], batches = 1;
    int64_t row_a = transpose_a ? 1 : k, step_a = transpose_a ? m : 1;
    int64_t column_b = transpose_b ? k : 1, step_b = transpose_b ? 1 : n;
    const bool is_tiled = cse_node_is_tiled(node);
    for (int i = 0; i < rank - 2; i++)
        batches *= node->shape.dims[i];
    for (int64_t batch = 0; batch < batches; batch++)
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                int64_t at_a = batch * m * k + i * row_a, at_b = batch * k * n + j * column_b;
                int64_t element = (batch * m + i) * n + j;
                cse_accumulator tiled = cse_accumulator_start(call, element);
                double sum = node->input_count > 2
                                 ? cse_read_element(CSE_FLOAT32, call->inputs[2], element)
                                 : 0;
                for (int64_t p = 0; p < k; p++) {
                    double left = cse_read_element(a->dtype, call->inputs[0], at_a + p * step_a);
                    double right = cse_read_element(b->dtype, call->inputs[1], at_b + p * step_b);
                    if (is_tiled)
                        cse_accumulator_add(&tiled, left, right);
                    else
                        sum += left * right;
                }
                sum = is_tiled ? (double)cse_accumulator_end(&tiled) : sum;
                cse_write_element(node->dtype, call->output, element, sum);
            }
}

/* Replaces a transposed operand by its input and sets the product's transpose flag: nothing is
 * copied. */
static cse_tensor *simplify(cse_tensor *node)
{
    for (int side = 0; side < 2; side++) {
        const cse_tensor *input = node->inputs[side];
        if (input->op->is_matrix_transpose == NULL || !input->op->is_matrix_transpose(input))
            continue;
        node->inputs[side] = input->inputs[0];
        node->attributes.integers[side] = !node->attributes.integers[side];
    }
    return NULL;
}

static int64_t summed_terms(const cse_tensor *node)
{
    cse_shape a = node->inputs[0]->shape;
    return a.dims[a.rank - (node->attributes.integers[0] ? 2 : 1)];
}

const cse_op cse_op_matmul = {
    .name = "matmul",
    .summary = "products of matrices over the last two axes",
    .kind = CSE_OP_LIBRARY,
    .precision = CSE_FAMILY_PRODUCT,
    .min_inputs = 2,
    .max_inputs = 3,
    .infer = infer,
    .gradient = gradient,
    .reference = reference,
    .updates = 3,
    .kernel = { .make = cse_kernel_new_matmul,
                .make_tiled = cse_kernel_new_tiled_matmul,
                .types = CSE_KERNEL_ANY_FLOAT_AND_BIAS,
                .bias_axis = 1 },
    .simplify = simplify,
    .summed_terms = summed_terms,
};
