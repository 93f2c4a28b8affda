/* Sums and counts over the global batch, from which every metric is computed. */
#include "engine/metrics/metric.h"

#include "csengine/generated/ops.h"
#include "engine/trace/trace.h"

cse_tensor *cse_metric_sum(cse_tensor *x)
{
    cse_tensor *sum = cse_sum_all(x);
    return !cse_trace_is_poison(sum) && sum->batch ? cse_batch_sum(sum) : sum;
}

cse_tensor *cse_metric_count(const cse_tensor *x)
{
    if (cse_trace_is_poison(x))
        return cse_trace_graph()->poison;
    double copies = x->batch ? cse_trace_graph()->microbatch_count : 1;
    return cse_constant(copies * (double)cse_shape_elements(x->shape));
}
