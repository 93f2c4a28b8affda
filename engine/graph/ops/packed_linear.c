/* packed_linear: rows times a packed weight, a linear layer or its gradient.
 *
 * Inputs: x [rows, k] of floats, weight int32 [out, words], which stands for [out, in]. Attributes:
 * the type, its columns (in), and whether the weight is read transposed: with it x [rows, in] gives
 * [rows, out], without it [rows, out] gives [rows, in]. The weight's values are float32, rounded to
 * the type of x, and the bits are those of the product with the unpacked weight. */
#include <stdlib.h>

#include "engine/base/arena.h"
#include "engine/base/types/dtype.h"
#include "engine/code/kernels/plan.h"
#include "engine/graph/ops/packed_weight.h"
#include "engine/graph/trace/arguments.h"

enum { TRANSPOSED = CSE_PACKED_INTEGERS };

/** Rows x [rows, in] times the transpose of the matrix [out, in] that int32 `packed` [out, words]
 * stands for (cse_unpack_weight), as a linear layer: [rows, out]; without `transpose` x [rows, out]
 * times the matrix: [rows, in]. The weight has no gradient. */
CSE_API cse_tensor *cse_packed_linear(cse_tensor *x, cse_tensor *packed, int64_t type,
                                      int64_t columns, bool transpose)
{
    const cse_attributes attributes = { .integer_count = CSE_PACKED_INTEGERS + 1,
                                        .integers = { type, columns, transpose } };
    return cse_trace_2(&cse_op_packed_linear, &attributes, x, packed);
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    const bool transposed = in->attributes->integers[TRANSPOSED] != 0;
    CSE_TRY(cse_packed_weight_check(in, 1));
    const int64_t out = in->shapes[1].dims[0],
                  columns = in->attributes->integers[CSE_PACKED_COLUMNS];
    if (in->shapes[0].rank != 2 || !cse_dtype_is_float(in->dtypes[0]))
        return cse_fail(CSE_SHAPE, "the first input must be floats [rows, k]");
    if (in->shapes[0].dims[1] != (transposed ? columns : out))
        return cse_fail(CSE_SHAPE, "the inner sizes differ: %lld (first input) and %lld (weight)",
                        (long long)in->shapes[0].dims[1], (long long)(transposed ? columns : out));
    *shape = cse_shape_of(in->shapes[0].dims[0], transposed ? out : columns);
    *dtype = in->dtypes[0];
    return cse_check_size(*shape);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    const int64_t *integers = node->attributes.integers;
    gradients[0] = cse_packed_linear(output_gradient, node->inputs[1], integers[CSE_PACKED_NUMBER],
                                     integers[CSE_PACKED_COLUMNS], integers[TRANSPOSED] == 0);
}

/* The rounded values of the weight, as doubles are made of them. */
static float *unpacked(const cse_reference *call)
{
    const cse_tensor *node = call->node;
    const cse_dtype dtype = node->inputs[0]->dtype;
    const int64_t rows = node->inputs[1]->shape.dims[0],
                  columns = node->attributes.integers[CSE_PACKED_COLUMNS];
    float *values = cse_malloc((size_t)(rows * columns) * sizeof *values + 1);
    for (int64_t r = 0; r < rows; r++)
        cse_packed_weight_row(node, call->inputs[1], r, values + r * columns);
    for (int64_t i = 0; i < rows * columns && dtype != CSE_FLOAT32; i++)
        values[i] = cse_float_from_format(dtype, cse_round_to_bits(dtype, values[i]));
    return values;
}

static void reference(const cse_reference *call)
{
    const cse_tensor *node = call->node, *x = node->inputs[0];
    const bool transposed = node->attributes.integers[TRANSPOSED] != 0;
    const int64_t columns = node->attributes.integers[CSE_PACKED_COLUMNS];
    const int64_t rows = node->shape.dims[0], n = node->shape.dims[1], k = x->shape.dims[1];
    float *weight = unpacked(call);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t p = 0; p < k; p++)
                sum += cse_read_element(x->dtype, call->inputs[0], i * k + p) *
                       (double)(transposed ? weight[j * columns + p] : weight[p * columns + j]);
            cse_write_element(node->dtype, call->output, i * n + j, sum);
        }
    free(weight);
}

static int64_t summed_terms(const cse_tensor *node)
{
    return node->inputs[0]->shape.dims[1];
}

const cse_op cse_op_packed_linear = {
    .name = "packed_linear",
    .summary = "rows times a packed weight",
    .kind = CSE_OP_LIBRARY,
    .precision = CSE_FAMILY_PRODUCT,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer,
    .gradient = gradient,
    .reference = reference,
    .kernel = { .make = cse_kernel_new_packed_linear,
                .make_tiled = cse_kernel_refuse_tiled_packed,
                .types = CSE_KERNEL_ANY_FLOAT,
                .bias_axis = 1 },
    .summed_terms = summed_terms,
};
