/* unpack_weight: the matrix that a packed weight stands for.
 *
 * Input: int32 [rows, words]; output float32 [rows, columns]. Products and look-ups of it become
 * packed_linear and packed_embedding (engine/graph/passes/packed_weights.c), which make no copy of
 * the whole matrix; what else reads it has one. It has no gradient: packed weights are not trained.
 */
#include <stdlib.h>

#include "engine/base/arena.h"
#include "engine/code/kernels/plan.h"
#include "engine/graph/ops/packed_weight.h"
#include "engine/graph/trace/arguments.h"

/** The matrix [rows, columns] in float32 of int32 `packed` [rows, words]: rows of blocks of the
 * type with that number in GGUF, each row filled up to whole words. */
CSE_API cse_tensor *cse_unpack_weight(cse_tensor *packed, int64_t type, int64_t columns)
{
    const cse_attributes attributes = { .integer_count = CSE_PACKED_INTEGERS,
                                        .integers = { type, columns } };
    return cse_trace_1(&cse_op_unpack_weight, &attributes, packed);
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    CSE_TRY(cse_packed_weight_check(in, 0));
    *shape = cse_shape_of(in->shapes[0].dims[0], in->attributes->integers[CSE_PACKED_COLUMNS]);
    *dtype = CSE_FLOAT32;
    return cse_check_size(*shape);
}

static void reference(const cse_reference *call)
{
    const int64_t rows = call->node->shape.dims[0], columns = call->node->shape.dims[1];
    for (int64_t r = 0; r < rows; r++)
        cse_packed_weight_row(call->node, call->inputs[0], r, (float *)call->output + r * columns);
}

const cse_op cse_op_unpack_weight = {
    .name = "unpack_weight",
    .summary = "the matrix that a packed weight stands for",
    .kind = CSE_OP_LIBRARY,
    .precision = CSE_FAMILY_FLOAT32,
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = infer,
    .reference = reference,
    .kernel = { .make = cse_kernel_new_unpack_weight, .types = CSE_KERNEL_ANY_FLOAT },
};
