/* packed_embedding: rows of a packed table, chosen by index.
 *
 * Inputs: table int32 [n, words], which stands for [n, columns], and indices int32 [...].
 * Attributes: the type, its columns, and the type of the result. */
#include <math.h>
#include <stdlib.h>

#include "engine/base/arena.h"
#include "engine/code/kernels/plan.h"
#include "engine/graph/ops/packed_weight.h"
#include "engine/graph/trace/arguments.h"

enum { RESULT = CSE_PACKED_INTEGERS };

/** Row indices[i] of the matrix [n, columns] that int32 `packed` [n, words] stands for
 * (cse_unpack_weight), for each int32 index: [indices..., columns]. An index outside [0, n) gives a
 * row of NaN. */
CSE_API cse_tensor *cse_packed_embedding(cse_tensor *packed, cse_tensor *indices, int64_t type,
                                         int64_t columns)
{
    const cse_attributes attributes = { .integer_count = CSE_PACKED_INTEGERS + 1,
                                        .integers = { type, columns, CSE_FLOAT32 } };
    return cse_trace_2(&cse_op_packed_embedding, &attributes, packed, indices);
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    const int64_t result = in->attributes->integers[RESULT];
    CSE_TRY(cse_packed_weight_check(in, 0));
    if (in->dtypes[1] != CSE_INT32 || in->shapes[1].rank + 1 > CSE_MAX_RANK)
        return cse_fail(CSE_SHAPE, "the indices must be int32 with at most %d axes",
                        CSE_MAX_RANK - 1);
    if (result < 0 || result >= CSE_DTYPE_COUNT || !cse_dtype_is_float((cse_dtype)result))
        return cse_fail(CSE_SHAPE, "the result must be of a float type");
    *shape = in->shapes[1];
    shape->dims[shape->rank++] = in->attributes->integers[CSE_PACKED_COLUMNS];
    *dtype = (cse_dtype)result;
    return cse_check_size(*shape);
}

static int64_t row_count(const cse_tensor *node)
{
    return node->inputs[0]->shape.dims[0];
}

static void reference(const cse_reference *call)
{
    const cse_tensor *node = call->node;
    const int64_t columns = node->attributes.integers[CSE_PACKED_COLUMNS];
    const int32_t *indices = call->inputs[1];
    float *row = cse_malloc((size_t)columns * sizeof *row);
    for (int64_t i = 0; i < cse_shape_elements(node->inputs[1]->shape); i++) {
        const bool inside = indices[i] >= 0 && indices[i] < row_count(node);
        if (inside)
            cse_packed_weight_row(node, call->inputs[0], indices[i], row);
        for (int64_t c = 0; c < columns; c++)
            cse_write_element(node->dtype, call->output, i * columns + c,
                              inside ? (double)row[c] : NAN);
    }
    free(row);
}

const cse_op cse_op_packed_embedding = {
    .name = "packed_embedding",
    .summary = "rows of a packed table, chosen by index",
    .kind = CSE_OP_LIBRARY,
    .precision = CSE_FAMILY_FLOAT32,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer,
    .reference = reference,
    .indices = { .count = row_count, .name = "the number of rows" },
    .kernel = { .make = cse_kernel_new_packed_embedding, .types = CSE_KERNEL_ANY_FLOAT },
};
