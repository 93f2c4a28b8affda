/* Parts of a rank. */
#include "engine/graph/ops/ranking.h"

#include "csengine/generated/ops.h"

cse_tensor *cse_rank_part(cse_tensor *rank, int index, const cse_tensor *like)
{
    if (cse_trace_is_poison(rank))
        return rank;
    cse_tensor *part = cse_reshape(cse_slice_axis(rank, 0, index, index + 1), cse_scalar_shape);
    return cse_broadcast_to(part, like->shape);
}
