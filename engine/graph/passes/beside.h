/* The scores and the weights of an attention that one kernel computes as a whole exist nowhere: it
 * has them in tiles, which it forgets. Where they are asked for (numerics.values names them, and
 * not all that there is, as ".*" does), they are computed beside the attention from the same
 * q and k, in the same format, by the definition that attentions without a kernel are expanded to.
 * The attention itself stays as it is, and so do the bits of the step.
 *
 * What the kernel had may differ in the order of sums. How far is not assumed but measured: the
 * output that follows from these weights is compared with that of the kernel. */
#ifndef CSE_PASSES_BESIDE_H
#define CSE_PASSES_BESIDE_H

#include "engine/graph/passes/value_names.h"

/* While the composite `node` is expanded to `expanded`, in its trace context. */
void cse_trace_beside(cse_graph *graph, const cse_value_wish *wish, cse_node *node,
                      cse_node *expanded);

/* Whether a node that is computed beside tells how far values that are asked for may be from the
 * program's. */
bool cse_beside_tells(const cse_graph *graph, const cse_value_wish *wish, const cse_node *node);

#endif
