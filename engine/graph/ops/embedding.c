/* embedding: a learned row for each token.
 *
 * Inputs: table [n, channel] of floats, indices int32 [...]. Output: [..., channel]. It is a gather
 * that is an op of its own so that precision presets can tell a model's vocabulary from other
 * look-ups, and error messages can speak of tokens and channels. */
#include <math.h>

#include "engine/graph/op.h"
#include "engine/graph/trace/arguments.h"

/** Row indices[i] of table [n, channel] for each int32 index: [indices..., channel]. An index
 * outside [0, n) gives a row of NaN, so that the error shows; in an input that the data gives it
 * ends the run with its place in the data. In the gradient the rows of one index
 * are added in the order of the indices. */
CSE_API cse_tensor *cse_embedding(cse_tensor *table, cse_tensor *indices)
{
    return cse_trace_2(&cse_op_embedding, NULL, table, indices);
}

/** The same, but row `padding` of the table gets no gradient, as with PyTorch's padding_idx. */
CSE_API cse_tensor *cse_embedding_padded(cse_tensor *table, cse_tensor *indices, int32_t padding)
{
    cse_tensor *rows = cse_embedding(table, indices);
    if (cse_trace_is_poison(rows))
        return rows;
    cse_shape column = rows->shape;
    column.dims[column.rank - 1] = 1;
    cse_tensor *is_padding = cse_equal(cse_reshape(indices, column), cse_constant_int(padding));
    return cse_where(is_padding, cse_stop_gradient(rows), rows);
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    if (in->shapes[0].rank != 2 || !cse_dtype_is_float(in->dtypes[0]))
        return cse_fail(CSE_SHAPE, "the table must be floats [n, channel]");
    if (in->dtypes[1] != CSE_INT32 || in->shapes[1].rank + 1 > CSE_MAX_RANK)
        return cse_fail(CSE_SHAPE, "the indices must be int32 with at most %d axes",
                        CSE_MAX_RANK - 1);
    *shape = in->shapes[1];
    shape->dims[shape->rank++] = in->shapes[0].dims[1];
    *dtype = in->dtypes[0];
    return cse_check_size(*shape);
}

static cse_tensor *expand(cse_tensor *node)
{
    return cse_gather(node->inputs[0], node->inputs[1]);
}

static void gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[])
{
    /* Rows are added in float32, as in the gradient of gather. */
    gradients[0] = cse_cast(cse_scatter_add(cse_cast(output_gradient, CSE_FLOAT32), node->inputs[1],
                                            node->inputs[0]->shape.dims[0]),
                            output_gradient->dtype);
}

static int64_t row_count(const cse_tensor *node)
{
    return node->inputs[0]->shape.dims[0];
}

static void reference(const cse_reference *call)
{
    const cse_tensor *node = call->node, *table = node->inputs[0];
    int64_t rows = table->shape.dims[0], channels = table->shape.dims[1];
    const int32_t *indices = call->inputs[1];
    for (int64_t i = 0; i < cse_shape_elements(node->inputs[1]->shape); i++)
        for (int64_t c = 0; c < channels; c++) {
            bool inside = indices[i] >= 0 && indices[i] < rows;
            double value = NAN;
            if (inside)
                value = cse_read_element(table->dtype, call->inputs[0], indices[i] * channels + c);
            cse_write_element(node->dtype, call->output, i * channels + c, value);
        }
}

const cse_op cse_op_embedding = {
    .name = "embedding",
    .summary = "a learned row for each token",
    .kind = CSE_OP_COMPOSITE,
    .precision = CSE_FAMILY_MOVEMENT,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer,
    .gradient = gradient,
    .reference = reference,
    .indices = { .count = row_count, .name = "vocab_size" },
    .expand = expand,
};
