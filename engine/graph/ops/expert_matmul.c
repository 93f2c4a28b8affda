/* expert_matmul: each row times the matrix of its expert, the linear layers of a mixture of experts
 * (Shazeer et al. 2017).
 *
 * Inputs: x [rows, k], weights [experts, n, k] or [experts, k, n], and experts int32 [rows].
 * Attributes: integers[0] says whether the weights are read transposed, which is [experts, n, k].
 * Rows of one expert that stand one after the other are one product: sorted rows are the fast ones,
 * and no row is computed with another expert's weights. */
#include <math.h>

#include "engine/code/kernels/plan.h"
#include "engine/graph/op.h"
#include "engine/graph/trace/arguments.h"

/** Row r of x [rows, k] times the matrix experts[r] (int32) of weights [experts, k, n], or of
 * [experts, n, k] where `transpose`: [rows, n]. Sums are accumulated in at least float32. It is
 * fast where the rows of an expert stand one after the other. An index outside [0, experts) gives
 * a row of NaN. */
CSE_API cse_tensor *cse_expert_matmul(cse_tensor *x, cse_tensor *weights, cse_tensor *experts,
                                      bool transpose)
{
    const cse_attributes attributes = { .integer_count = 1, .integers = { transpose } };
    return cse_trace(&cse_op_expert_matmul, &attributes, 3,
                     (cse_tensor *[]){ x, weights, experts });
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    const cse_shape x = in->shapes[0], weights = in->shapes[1], experts = in->shapes[2];
    const bool transposed = in->attributes->integers[0] != 0;
    if (x.rank != 2 || weights.rank != 3 || in->dtypes[0] != in->dtypes[1] ||
        !cse_dtype_is_float(in->dtypes[0]))
        return cse_fail(CSE_SHAPE, "x must be [rows, k] and the weights [experts, n, k] or "
                                   "[experts, k, n], floats of one type; cast them first");
    if (experts.rank != 1 || experts.dims[0] != x.dims[0] || in->dtypes[2] != CSE_INT32)
        return cse_fail(CSE_SHAPE, "the experts must be int32 [rows], one for each row of x");
    if (weights.dims[transposed ? 2 : 1] != x.dims[1])
        return cse_fail(CSE_SHAPE, "the inner sizes differ: %lld of x and %lld of the weights%s",
                        (long long)x.dims[1], (long long)weights.dims[transposed ? 2 : 1],
                        transposed ? ", transposed" : "");
    *shape = cse_shape_of(x.dims[0], weights.dims[transposed ? 1 : 2]);
    *dtype = in->dtypes[0];
    return cse_check_size(*shape);
}

/* As of a product: with the weights the other way round, and of them the sums of outer products. */
static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    cse_tensor *x = node->inputs[0], *weights = node->inputs[1], *experts = node->inputs[2];
    const int64_t count = weights->shape.dims[0];
    const bool transposed = node->attributes.integers[0] != 0;
    gradients[0] = cse_expert_matmul(output_gradient, weights, experts, !transposed);
    gradients[1] = transposed ? cse_expert_outer(output_gradient, x, experts, count)
                              : cse_expert_outer(x, output_gradient, experts, count);
}

static void reference(const cse_reference *call)
{
    const cse_tensor *node = call->node, *x = node->inputs[0], *weights = node->inputs[1];
    const bool transposed = node->attributes.integers[0] != 0;
    const int64_t rows = node->shape.dims[0], n = node->shape.dims[1], k = x->shape.dims[1];
    const int64_t column = transposed ? k : 1, step = transposed ? 1 : n;
    const int32_t *experts = call->inputs[2];
    for (int64_t r = 0; r < rows; r++) {
        const bool inside = experts[r] >= 0 && experts[r] < weights->shape.dims[0];
        for (int64_t j = 0; j < n; j++) {
            double sum = inside ? 0 : NAN;
            for (int64_t p = 0; inside && p < k; p++)
                sum += cse_read_element(x->dtype, call->inputs[0], r * k + p) *
                       cse_read_element(weights->dtype, call->inputs[1],
                                        experts[r] * n * k + j * column + p * step);
            cse_write_element(node->dtype, call->output, r * n + j, sum);
        }
    }
}

/* As of matmul: k products below 1 in float32 err by at most k^2 * 2^-24 (k <= 33: 6.5e-5). */
static const cse_op_sample samples[] = {
    { .name = "a linear layer",
      .inputs = { CSE_FLOATS(-1, 1, 9, 33), CSE_FLOATS(-1, 1, 3, 5, 33), CSE_INTEGERS(0, 3, 9) },
      .input_count = 3,
      CSE_WITH_INTEGERS(1),
      .tolerance = 6.5e-5 },
    { .name = "its gradient",
      .inputs = { CSE_FLOATS(-1, 1, 9, 7), CSE_FLOATS(-1, 1, 4, 7, 6), CSE_INTEGERS(0, 4, 9) },
      .input_count = 3,
      CSE_WITH_INTEGERS(0),
      .tolerance = 6.5e-5 },
    { .name = "one expert for all rows",
      .inputs = { CSE_FLOATS(-1, 1, 40, 17), CSE_FLOATS(-1, 1, 3, 20, 17), CSE_INTEGERS(1, 2, 40) },
      .input_count = 3,
      CSE_WITH_INTEGERS(1),
      .tolerance = 6.5e-5 },
    { .name = NULL },
};

static int64_t summed_terms(const cse_tensor *node)
{
    return node->inputs[0]->shape.dims[1];
}

const cse_op cse_op_expert_matmul = {
    .name = "expert_matmul",
    .summary = "each row times the matrix of its expert",
    .kind = CSE_OP_LIBRARY,
    .precision = CSE_FAMILY_PRODUCT,
    .min_inputs = 3,
    .max_inputs = 3,
    .infer = infer,
    .gradient = gradient,
    .reference = reference,
    .kernel = { .make = cse_kernel_new_expert_matmul,
                .make_tiled = cse_kernel_refuse_tiled_experts,
                .types = CSE_KERNEL_ANY_FLOAT },
    .summed_terms = summed_terms,
    .samples = samples,
};
