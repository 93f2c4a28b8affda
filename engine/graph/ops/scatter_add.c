/* scatter_add: adds rows into a table at given indices, of zeros or another's values; the transpose
 * of gather.
 *
 * Inputs: rows [indices..., row...], indices int32, and the table that is added to (absent: zeros).
 * Attributes: integers[0] the rows of the table. Rows are added in float32 in the order of the
 * indices, so that the bits of the sums are fixed. The result may lie where the table does. */
#include <stdlib.h>
#include <string.h>

#include "engine/graph/op.h"
#include "engine/graph/trace/arguments.h"

/** A table [count, row...] whose row i is the sum of those of the rows [indices..., row...] whose
 * index is i, added in order; 0 where there is none. Rows whose index lies outside [0, count) are
 * ignored. */
CSE_API cse_tensor *cse_scatter_add(cse_tensor *rows, cse_tensor *indices, int64_t count)
{
    const cse_attributes attributes = { .integer_count = 1, .integers = { count } };
    return cse_trace_2(&cse_op_scatter_add, &attributes, rows, indices);
}

/** The same, added to the rows of `table` [count, row...]. */
CSE_API cse_tensor *cse_scatter_add_to(cse_tensor *table, cse_tensor *rows, cse_tensor *indices)
{
    cse_attributes attributes = { .integer_count = 1 };
    if (!cse_trace_is_poison(table))
        attributes.integers[0] = table->shape.rank > 0 ? table->shape.dims[0] : 0;
    return cse_trace(&cse_op_scatter_add, &attributes, 3, (cse_tensor *[]){ rows, indices, table });
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    cse_shape rows = in->shapes[0], indices = in->shapes[1], lead = rows;
    lead.rank = indices.rank;
    if (in->dtypes[0] != CSE_FLOAT32 || in->dtypes[1] != CSE_INT32 || rows.rank < indices.rank ||
        !cse_shape_equal(lead, indices))
        return cse_fail(CSE_SHAPE, "rows must be float32 [indices..., row...] and indices int32; "
                                   "cast 16-bit rows first: sums in 16 bits stop growing");
    if (in->attributes->integers[0] < 1 || rows.rank - indices.rank + 1 > CSE_MAX_RANK)
        return cse_fail(CSE_SHAPE, "the table must have at least one row and at most %d axes",
                        CSE_MAX_RANK);
    *shape = cse_shape_of(in->attributes->integers[0]);
    for (int i = indices.rank; i < rows.rank; i++)
        shape->dims[shape->rank++] = rows.dims[i];
    *dtype = in->dtypes[0];
    if (in->input_count > 2 &&
        (in->dtypes[2] != CSE_FLOAT32 || !cse_shape_equal(in->shapes[2], *shape)))
        return cse_fail(CSE_SHAPE, "the table must be float32 [count, row...], with rows as those "
                                   "that are added");
    return cse_check_size(*shape);
}

/* The rows of the gradient at the indices; 0 for rows that were ignored. */
static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    cse_tensor *indices = node->inputs[1];
    cse_shape column = node->inputs[0]->shape;
    for (int i = indices->shape.rank; i < column.rank; i++)
        column.dims[i] = 1;
    cse_tensor *count = cse_constant_int((int32_t)node->attributes.integers[0]);
    cse_tensor *inside =
        cse_logical_and(cse_greater_equal(indices, cse_constant_int(0)), cse_less(indices, count));
    gradients[0] = cse_where(cse_reshape(inside, column), cse_gather(output_gradient, indices),
                             cse_constant_like(output_gradient, 0));
    if (node->input_count > 2)
        gradients[2] = output_gradient;
}

static int64_t row_elements(const cse_tensor *node)
{
    return cse_shape_elements(node->shape) / node->shape.dims[0];
}

static void reference(const cse_reference *call)
{
    const cse_tensor *node = call->node;
    int64_t rows = node->shape.dims[0], length = row_elements(node), total = rows * length;
    int64_t count = cse_shape_elements(node->inputs[1]->shape);
    const int32_t *indices = call->inputs[1];
    double *sums = cse_calloc((size_t)total + 1, sizeof *sums);
    for (int64_t i = 0; node->input_count > 2 && i < total; i++)
        sums[i] = cse_read_element(node->dtype, call->inputs[2], i);
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; indices[i] >= 0 && indices[i] < rows && j < length; j++)
            sums[indices[i] * length + j] +=
                cse_read_element(node->dtype, call->inputs[0], i * length + j);
    for (int64_t i = 0; i < total; i++)
        cse_write_element(node->dtype, call->output, i, sums[i]);
    free(sums);
}

static void emit(cse_text *out, const cse_tensor *node)
{
    long long rows = node->shape.dims[0], length = row_elements(node);
    const long long elements = rows * length;
    if (node->input_count > 2)
        cse_text_add(out,
                     "if (y != x2)\n"
                     "for (int64_t i = 0; i < %lld; i++)\n"
                     "y[i] = x2[i];\n",
                     elements);
    else
        cse_text_add(out,
                     "for (int64_t i = 0; i < %lld; i++)\n"
                     "y[i] = 0;\n",
                     elements);
    cse_text_add(out,
                 "for (int64_t i = 0; i < %lld; i++) {\n"
                 "int32_t row = x1[i];\n"
                 "if (row >= 0 && row < %lld)\n"
                 "for (int64_t j = 0; j < %lld; j++)\n"
                 "y[row * (int64_t)%lld + j] += x0[i * %lld + j];\n"
                 "}\n",
                 (long long)cse_shape_elements(node->inputs[1]->shape), rows, length, length,
                 length);
}

const cse_op cse_op_scatter_add = {
    .name = "scatter_add",
    .summary = "rows added into a table at given indices",
    .kind = CSE_OP_BLOCK,
    .precision = CSE_FAMILY_FLOAT32,
    .min_inputs = 2,
    .max_inputs = 3,
    .infer = infer,
    .gradient = gradient,
    .reference = reference,
    .emit = emit,
    .updates = 3,
};
