/* Ops by name; the contract of one is public, csengine/op.h. Ops that models are written with are
 * in engine/graph/ops; those that only the engine itself places in a graph (states, inputs,
 * reductions over microbatches) are in engine/graph/structural_ops.c. */
#ifndef CSE_GRAPH_OP_H
#define CSE_GRAPH_OP_H

#include "csengine/op.h"
#include "engine/base/text.h"
#include "engine/graph/op_list.h"

/* A named op of engine/graph/ops, or a structural one; NULL when there is none. */
const cse_op *cse_op_built_in(const char *name);
/* A named op of engine/graph/ops, a structural one, or one of a library (outside_ops.h); NULL when
 * there is none. */
const cse_op *cse_op_find(const char *name);

/* engine/graph/ops, in name order, ended by NULL; written by autogen.sh. */
extern const cse_op *const cse_ops[];

#endif
