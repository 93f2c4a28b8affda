/* gather: rows of a table, chosen by index (an embedding).
 *
 * Inputs: table [n, ...], indices int32 [...]. Output: the indices' shape followed by a row's. */
#include <math.h>
#include <string.h>

#include "engine/graph/op.h"
#include "engine/graph/trace/arguments.h"

/** Row indices[i] of table [n, ...] for each int32 index: [indices..., row...]. An index outside
 * [0, n) gives a row of NaN (int32: of INT32_MIN), so that the error shows. The gradient is
 * cse_scatter_add. */
CSE_API cse_tensor *cse_gather(cse_tensor *table, cse_tensor *indices)
{
    return cse_trace_2(&cse_op_gather, NULL, table, indices);
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    cse_shape table = in->shapes[0];
    if (table.rank < 1 || in->dtypes[0] == CSE_BOOL)
        return cse_fail(CSE_SHAPE, "the table must be numbers [n, ...]");
    if (in->dtypes[1] != CSE_INT32 || in->shapes[1].rank + table.rank - 1 > CSE_MAX_RANK)
        return cse_fail(CSE_SHAPE,
                        "the indices must be int32, with room for a row's axes: %d in "
                        "all",
                        CSE_MAX_RANK);
    *shape = in->shapes[1];
    for (int i = 1; i < table.rank; i++)
        shape->dims[shape->rank++] = table.dims[i];
    *dtype = in->dtypes[0];
    return CSE_OK;
}

/* Rows are added in float32: a 16-bit sum of many rows stops growing once a row rounds to nothing.
 */
static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    cse_dtype sums = cse_dtype_is_float(node->dtype) ? CSE_FLOAT32 : node->dtype;
    gradients[0] = cse_cast(cse_scatter_add(cse_cast(output_gradient, sums), node->inputs[1],
                                            node->inputs[0]->shape.dims[0]),
                            output_gradient->dtype);
}

static int64_t row_elements(const cse_tensor *node)
{
    cse_shape row = node->inputs[0]->shape;
    row.dims[0] = 1;
    return cse_shape_elements(row);
}

static int64_t row_count(const cse_tensor *node)
{
    return node->inputs[0]->shape.dims[0];
}

static void reference(const cse_reference *call)
{
    const cse_tensor *node = call->node;
    int64_t rows = node->inputs[0]->shape.dims[0], length = row_elements(node);
    int64_t count = cse_shape_elements(node->inputs[1]->shape);
    size_t row_bytes = (size_t)length * cse_dtype_size(node->dtype);
    const int32_t *indices = call->inputs[1];
    for (int64_t i = 0; i < count; i++)
        if (indices[i] >= 0 && indices[i] < rows)
            memcpy((char *)call->output + (size_t)i * row_bytes,
                   (const char *)call->inputs[0] + (size_t)indices[i] * row_bytes, row_bytes);
        else
            for (int64_t j = i * length; j < (i + 1) * length; j++)
                cse_write_element(node->dtype, call->output, j,
                                  node->dtype == CSE_INT32 ? INT32_MIN : NAN);
}

static void emit(cse_text *out, const cse_tensor *node)
{
    long long rows = node->inputs[0]->shape.dims[0], length = row_elements(node);
    cse_text_add(out,
                 "for (int64_t i = 0; i < %lld; i++) {\n"
                 "int32_t row = x1[i];\n"
                 "if (row >= 0 && row < %lld)\n"
                 "for (int64_t j = 0; j < %lld; j++)\n"
                 "y[i * %lld + j] = x0[row * (int64_t)%lld + j];\n"
                 "else\n"
                 "for (int64_t j = 0; j < %lld; j++)\n"
                 "y[i * %lld + j] = %s(%s);\n"
                 "}\n",
                 (long long)cse_shape_elements(node->inputs[1]->shape), rows, length, length,
                 length, length, length, cse_emitted_store(node->dtype),
                 node->dtype == CSE_INT32 ? "-2147483647 - 1" : "__builtin_nanf(\"\")");
}

const cse_op cse_op_gather = {
    .name = "gather",
    .summary = "rows of a table, chosen by index",
    .kind = CSE_OP_BLOCK,
    .precision = CSE_FAMILY_MOVEMENT,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer,
    .gradient = gradient,
    .reference = reference,
    .indices = { .count = row_count, .name = "the number of rows" },
    .emit = emit,
};
