/* Mixed precision: GraphAMP's types for the edges, then how each op's long sums accumulate (POL).
 *
 * It runs on the differentiated graph, before composites are expanded: a softmax or a norm is
 * judged as one op. A graph without a precision, and one whose preset denies everything, stays as
 * it is. */
#include "engine/graph/passes/pass.h"
#include "engine/graph/precision/graphamp.h"

cse_status cse_pass_precision(cse_graph *graph, bool enabled)
{
    if (!enabled || graph->precision == NULL)
        return CSE_OK;
    CSE_TRY(cse_graphamp_run(graph->precision, graph));
    cse_pol_run(graph->precision, graph);
    return CSE_OK;
}
