/* Tracing: a call becomes a node.
 *
 * One graph is being traced at a time in a thread; the functions of engine/ops add to it through
 * cse_trace. The first failure is kept in the graph with the op's name, the inputs' shapes, the
 * scope and the caller's file and line; from then on every call returns the poisoned handle. */
#ifndef CSE_TRACE_TRACE_H
#define CSE_TRACE_TRACE_H

#include "csengine/generated/ops.h"
#include "engine/graph/graph.h"

/* Makes `graph` the one that is traced; returns the one before (NULL: none), to be restored. */
cse_graph *cse_trace_begin(cse_graph *graph);
cse_graph *cse_trace_graph(void);

/* Adds a node for `op`; `attributes` may be NULL. Inputs that are NULL or poisoned give poison. */
cse_tensor *cse_trace(const cse_op *op, const cse_attributes *attributes, int input_count,
                      cse_tensor *const inputs[]);
cse_tensor *cse_trace_1(const cse_op *op, const cse_attributes *attributes, cse_tensor *a);
cse_tensor *cse_trace_2(const cse_op *op, const cse_attributes *attributes, cse_tensor *a,
                        cse_tensor *b);
/* As cse_trace_2 after broadcasting both to their common shape. */
cse_tensor *cse_trace_broadcast_2(const cse_op *op, cse_tensor *a, cse_tensor *b);

/* Records a failure in the traced graph (message with the caller's place) and returns the poison.
 */
cse_tensor *cse_trace_fail(cse_status status, const char *format, ...) CSE_PRINTF(2, 3);
bool cse_trace_is_poison(const cse_tensor *tensor);

/* The scope that new nodes belong to: dotted, nested by enter and leave. */
void cse_trace_enter(const char *name);
void cse_trace_leave(void);
/* Borrowed until the next change; "" at the top. */
const char *cse_trace_scope_view(void);
/* Replaces scope, place and precision request by those of `node` (NULL: none), for passes that
 * trace on its behalf; `backward` marks what is made as autodiff's, and as the dual of a forward
 * `node`. */
void cse_trace_on_behalf(const cse_tensor *node, bool backward);
/* What is traced next is nobody's dual: it joins what the duals of several nodes gave. */
void cse_trace_as_junction(void);

/* What new nodes ask of their numbers; nested by enter and leave. Levels of 0 in `request` leave
 * the enclosing region's in force, and a disabled GraphAMP stays disabled inside. */
void cse_trace_request_enter(const cse_precision_request *request);
void cse_trace_request_leave(void);

/* Error message of the graph, or CSE_OK. */
cse_status cse_trace_status(const cse_graph *graph);

#endif
