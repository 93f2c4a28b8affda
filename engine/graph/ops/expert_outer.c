/* expert_outer: for each expert the sum of the outer products of its rows; the gradient of
 * expert_matmul with respect to the weights.
 *
 * Inputs: x [rows, m], y [rows, n] and experts int32 [rows]. Attributes: integers[0] the number of
 * experts. Rows are added in their order; an expert without rows has zeros. */
#include <stdlib.h>

#include "engine/base/arena.h"
#include "engine/code/kernels/plan.h"
#include "engine/graph/op.h"
#include "engine/graph/trace/arguments.h"

/** The sum of x[r]^T y[r] over the rows r of each expert, for x [rows, m], y [rows, n] and experts
 * int32 [rows]: [count, m, n]. Rows are added in their order, in at least float32; those whose
 * expert lies outside [0, count) are ignored. */
CSE_API cse_tensor *cse_expert_outer(cse_tensor *x, cse_tensor *y, cse_tensor *experts,
                                     int64_t count)
{
    const cse_attributes attributes = { .integer_count = 1, .integers = { count } };
    return cse_trace(&cse_op_expert_outer, &attributes, 3, (cse_tensor *[]){ x, y, experts });
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    const cse_shape x = in->shapes[0], y = in->shapes[1], experts = in->shapes[2];
    if (x.rank != 2 || y.rank != 2 || x.dims[0] != y.dims[0] || in->dtypes[0] != in->dtypes[1] ||
        !cse_dtype_is_float(in->dtypes[0]))
        return cse_fail(CSE_SHAPE, "x and y must be [rows, m] and [rows, n], floats of one type; "
                                   "cast them first");
    if (experts.rank != 1 || experts.dims[0] != x.dims[0] || in->dtypes[2] != CSE_INT32)
        return cse_fail(CSE_SHAPE, "the experts must be int32 [rows], one for each row of x");
    if (in->attributes->integers[0] < 1)
        return cse_fail(CSE_SHAPE, "there must be at least one expert");
    *shape = cse_shape_of(in->attributes->integers[0], x.dims[1], y.dims[1]);
    *dtype = in->dtypes[0];
    return cse_check_size(*shape);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    cse_tensor *x = node->inputs[0], *y = node->inputs[1], *experts = node->inputs[2];
    gradients[0] = cse_expert_matmul(y, output_gradient, experts, true);
    gradients[1] = cse_expert_matmul(x, output_gradient, experts, false);
}

static void reference(const cse_reference *call)
{
    const cse_tensor *node = call->node;
    const int64_t count = node->shape.dims[0], m = node->shape.dims[1], n = node->shape.dims[2];
    const int64_t rows = node->inputs[0]->shape.dims[0];
    const cse_dtype dtype = node->dtype;
    const int32_t *experts = call->inputs[2];
    double *sums = cse_calloc((size_t)(count * m * n) + 1, sizeof *sums);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; experts[r] >= 0 && experts[r] < count && i < m; i++)
            for (int64_t j = 0; j < n; j++)
                sums[(experts[r] * m + i) * n + j] +=
                    cse_read_element(dtype, call->inputs[0], r * m + i) *
                    cse_read_element(dtype, call->inputs[1], r * n + j);
    for (int64_t e = 0; e < count * m * n; e++)
        cse_write_element(dtype, call->output, e, sums[e]);
    free(sums);
}

/* At most 40 products below 1 in float32: 40^2 * 2^-24 = 9.6e-5. */
static const cse_op_sample samples[] = {
    { .name = "some rows for each",
      .inputs = { CSE_FLOATS(-1, 1, 40, 5), CSE_FLOATS(-1, 1, 40, 7), CSE_INTEGERS(0, 3, 40) },
      .input_count = 3,
      CSE_WITH_INTEGERS(3),
      .tolerance = 9.6e-5 },
    { .name = "experts without rows, sorted",
      .inputs = { CSE_FLOATS(-1, 1, 20, 18), CSE_FLOATS(-1, 1, 20, 33), CSE_INTEGERS(2, 3, 20) },
      .input_count = 3,
      CSE_WITH_INTEGERS(4),
      .tolerance = 9.6e-5 },
    { .name = "some outside",
      .inputs = { CSE_FLOATS(-1, 1, 20, 5), CSE_FLOATS(-1, 1, 20, 3), CSE_INTEGERS(-2, 5, 20) },
      .input_count = 3,
      CSE_WITH_INTEGERS(3),
      .tolerance = 9.6e-5,
      .skip_gradient = true },
    { .name = NULL },
};

/* All rows may belong to one expert. */
static int64_t summed_terms(const cse_tensor *node)
{
    return node->inputs[0]->shape.dims[0];
}

const cse_op cse_op_expert_outer = {
    .name = "expert_outer",
    .summary = "for each expert the sum of the outer products of its rows",
    .kind = CSE_OP_LIBRARY,
    .precision = CSE_FAMILY_PRODUCT,
    .min_inputs = 3,
    .max_inputs = 3,
    .infer = infer,
    .gradient = gradient,
    .reference = reference,
    .kernel = { .make = cse_kernel_new_expert_outer,
                .make_tiled = cse_kernel_refuse_tiled_experts,
                .types = CSE_KERNEL_ANY_FLOAT },
    .summed_terms = summed_terms,
    .samples = samples,
};
