/* Ops that are not the engine's own: of a library of plugins, or of a program that traces with a
 * descriptor of its own.
 *
 * A graph names its ops, so a name means one op in a process. What such an op computes is code that
 * the engine's build does not identify: the digest of the file that holds it stands for it. A
 * process that executes a compiled step needs no more of an op than its name and kind: there a
 * stand-in takes its place, and no library is loaded. */
#ifndef CSE_GRAPH_OUTSIDE_OPS_H
#define CSE_GRAPH_OUTSIDE_OPS_H

#include "engine/base/library.h"
#include "engine/graph/op.h"

/* Makes the ops of a library known by name. CSE_DATA for one whose descriptor is incomplete, or
 * whose kind is for ops of the engine alone; CSE_CONFIG for a name that another op has. */
cse_status cse_ops_add_library(const cse_library *library);

/* Whether the members that the op's kind needs are there; CSE_DATA says what is missing. */
cse_status cse_op_check(const cse_op *op);

/* Whether it is neither one of engine/graph/ops nor structural. */
bool cse_op_is_outside(const cse_op *op);

/* The digest of the file that holds the descriptor, as hexadecimal digits; "" for the engine's own.
 * Borrowed. */
const char *cse_op_code_digest(const cse_op *op);

/* Of libraries; NULL when there is none of this name. */
const cse_op *cse_outside_op_find(const char *name);

#endif
