/* is_within_rank: whether each element's magnitude is within a rank (ranking.h).
 *
 * Inputs: x, and the least score and the last index of the rank, int32 in x's shape. */
#include <string.h>

#include "csengine/generated/ops.h"
#include "engine/graph/op.h"
#include "engine/graph/ops/ranking.h"

cse_tensor *cse_within_rank(cse_tensor *x, cse_tensor *rank)
{
    if (cse_trace_is_poison(x) || cse_trace_is_poison(rank))
        return cse_trace_is_poison(x) ? x : rank;
    cse_tensor *inputs[] = { x, cse_rank_part(rank, 0, x), cse_rank_part(rank, 1, x) };
    return cse_trace(&cse_op_is_within_rank, NULL, 3, inputs);
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    if (in->dtypes[0] != CSE_FLOAT32 || in->dtypes[1] != CSE_INT32 || in->dtypes[2] != CSE_INT32)
        return cse_fail(CSE_SHAPE, "x must be float32, and the parts of the rank int32");
    if (!cse_shape_equal(in->shapes[0], in->shapes[1]) ||
        !cse_shape_equal(in->shapes[0], in->shapes[2]))
        return cse_fail(CSE_SHAPE, "x and the parts of the rank must have one shape");
    *shape = in->shapes[0];
    *dtype = CSE_BOOL;
    return CSE_OK;
}

static void reference(const cse_reference *call)
{
    const int32_t *x = call->inputs[0], *least = call->inputs[1], *last = call->inputs[2];
    unsigned char *y = call->output;
    for (int64_t i = 0; i < cse_shape_elements(call->node->shape); i++)
        y[i] = cse_is_within_rank(x[i] & 0x7fffffff, call->first_element + i, least[i], last[i]);
}

const cse_op cse_op_is_within_rank = {
    .name = "is_within_rank",
    .summary = "whether an element is among those of largest magnitude",
    .kind = CSE_OP_ELEMENTWISE,
    .precision = CSE_FAMILY_FLOAT32,
    .min_inputs = 3,
    .max_inputs = 3,
    .infer = infer,
    .reference = reference,
    .expression = "cse_within_rank(cse_magnitude($0), $n, $1, $2)",
};
