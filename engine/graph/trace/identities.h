/* What the simplification rules of several ops share: when a node equals one of its inputs, bit for
 * bit. An op's file names its rule in its descriptor (`simplify` in engine/graph/op.h). */
#ifndef CSE_TRACE_IDENTITIES_H
#define CSE_TRACE_IDENTITIES_H

#include "engine/graph/graph.h"

/* Whether every element of `node` is one number known from the graph: a scalar constant, behind
 * broadcasts and reshapes. */
bool cse_node_number(const cse_node *node, double *number);

/* inputs[0] where inputs[1] is `neutral` throughout, else NULL. */
cse_tensor *cse_drop_neutral_right(const cse_tensor *node, double neutral);
/* The same for an op whose inputs commute: the input that is not neutral. */
cse_tensor *cse_drop_neutral(const cse_tensor *node, double neutral);
/* inputs[0] where it has the node's shape and type, else NULL. */
cse_tensor *cse_drop_same_shape(cse_tensor *node);

#endif
