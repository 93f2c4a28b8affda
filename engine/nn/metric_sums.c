/* Sums and counts over the global batch, from which every metric is computed, and totals of them
 * over the updates. */
#include "csengine/metric.h"

#include "csengine/generated/ops.h"
#include "engine/graph/trace/trace.h"

cse_tensor *cse_metric_sum(cse_tensor *x)
{
    cse_tensor *sum = cse_sum_all(x);
    return !cse_trace_is_poison(sum) && sum->batch ? cse_batch_sum(sum) : sum;
}

cse_tensor *cse_metric_sum_rows(cse_tensor *x)
{
    int axes[CSE_MAX_RANK], count = 0;
    if (cse_trace_is_poison(x))
        return x;
    for (; count < x->shape.rank - 1; count++)
        axes[count] = count;
    cse_tensor *sum = count > 0 ? cse_sum(x, axes, count, false) : x;
    return !cse_trace_is_poison(sum) && sum->batch ? cse_batch_sum(sum) : sum;
}

/* What the rounding of a + b to `sum` leaves (Knuth, "The art of computer programming", volume 2,
 * section 4.2.2, theorem B); 0 where something is not finite. */
static cse_tensor *left_over(cse_tensor *a, cse_tensor *b, cse_tensor *sum)
{
    cse_tensor *of_b = cse_sub(sum, a), *of_a = cse_sub(sum, of_b);
    cse_tensor *rest = cse_add(cse_sub(a, of_a), cse_sub(b, of_b));
    return cse_where(cse_is_finite(rest), rest, cse_constant(0));
}

cse_tensor *cse_metric_add(cse_metric_step *step, int index, cse_tensor *fresh)
{
    cse_tensor *before = step->states[index];
    cse_tensor *rough = cse_add(before, fresh);
    cse_tensor *rest = cse_add(step->states[index + 1], left_over(before, fresh, rough));
    cse_tensor *total = cse_add(rough, rest);
    step->next_states[index] = total;
    step->next_states[index + 1] = left_over(rough, rest, total);
    return total;
}

cse_tensor *cse_metric_quotient(cse_tensor *sum, cse_tensor *total)
{
    cse_tensor *nothing = cse_equal(total, cse_constant(0));
    return cse_where(nothing, cse_constant(0),
                     cse_div(sum, cse_where(nothing, cse_constant(1), total)));
}

cse_tensor *cse_metric_count(const cse_tensor *x)
{
    if (cse_trace_is_poison(x))
        return cse_trace_graph()->poison;
    double copies = x->batch ? cse_trace_graph()->microbatch_count : 1;
    return cse_constant(copies * (double)cse_shape_elements(x->shape));
}
