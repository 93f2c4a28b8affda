/* Gradient clipping by the norm over all gradients together, or element by element. */
#include "csengine/generated/ops.h"
#include "engine/graph/precision/precision.h"

cse_tensor *cse_sum_of_squares(cse_tensor *const gradients[], int count, cse_tensor *each[])
{
    cse_tensor *total = NULL;
    for (int i = 0; i < count; i++) {
        each[i] = cse_sum_all(cse_square(gradients[i]));
        total = total ? cse_add(total, each[i]) : each[i];
    }
    return total;
}

cse_tensor *cse_clip_factor(cse_tensor *sum_of_squares, double max_norm)
{
    cse_tensor *norm = cse_sqrt(sum_of_squares);
    cse_tensor *factor = cse_div(cse_constant(max_norm), cse_shift(norm, 1e-6));
    return cse_minimum(factor, cse_constant(1));
}

cse_tensor *cse_clip_to_value(cse_tensor *gradient, double max_value)
{
    cse_tensor *below = cse_minimum(gradient, cse_constant(max_value));
    return cse_maximum(below, cse_constant(-max_value));
}
