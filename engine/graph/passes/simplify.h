/* When two nodes compute the same value. */
#ifndef CSE_PASSES_SIMPLIFY_H
#define CSE_PASSES_SIMPLIFY_H

#include "engine/graph/graph.h"

/* Same op, attributes, shape, type, part and inputs. */
bool cse_nodes_equal(const cse_node *a, const cse_node *b);

#endif
