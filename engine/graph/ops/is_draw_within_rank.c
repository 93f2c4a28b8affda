/* is_draw_within_rank: whether each element's random score is within a rank (ranking.h).
 *
 * Inputs, all int32 in the result's shape: the halves of the key, the least score and the last
 * index of the rank. */
#include "csengine/generated/ops.h"
#include "engine/base/random.h"
#include "engine/graph/op.h"
#include "engine/graph/ops/ranking.h"

cse_tensor *cse_draw_within_rank(const char *stream, const cse_tensor *like, cse_tensor *rank)
{
    cse_tensor *inputs[4];
    if (cse_trace_is_poison(rank))
        return rank;
    for (int k = 0; k < 2; k++) {
        inputs[k] = cse_broadcast_to(cse_random_key(stream, k), like->shape);
        inputs[2 + k] = cse_rank_part(rank, k, like);
    }
    return cse_trace(&cse_op_is_draw_within_rank, NULL, 4, inputs);
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    CSE_TRY(cse_infer_integers(in, shape, dtype));
    *dtype = CSE_BOOL;
    return CSE_OK;
}

static void reference(const cse_reference *call)
{
    const int32_t *low = call->inputs[0], *high = call->inputs[1];
    const int32_t *least = call->inputs[2], *last = call->inputs[3];
    unsigned char *y = call->output;
    for (int64_t i = 0; i < cse_shape_elements(call->node->shape); i++) {
        const int64_t index = call->first_element + i;
        const uint32_t bits = cse_hash_bits(cse_key_of(low[i], high[i]), (uint32_t)index);
        y[i] = cse_is_within_rank((int32_t)(bits >> 1), index, least[i], last[i]);
    }
}

const cse_op cse_op_is_draw_within_rank = {
    .name = "is_draw_within_rank",
    .summary = "whether an element is among those of the highest random scores",
    .kind = CSE_OP_ELEMENTWISE,
    .precision = CSE_FAMILY_FLOAT32,
    .min_inputs = 4,
    .max_inputs = 4,
    .infer = infer,
    .reference = reference,
    .expression = "cse_within_rank(cse_draw_score($0, $1, $n), $n, $2, $3)",
};
