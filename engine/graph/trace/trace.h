/* Tracing: a call becomes a node.
 *
 * A thread has a stack of trace contexts; the functions of engine/graph/ops add nodes to the graph
 * of the innermost one through cse_trace. A context also holds what every new node is given: place
 * in the model's source, scope, pass (forward or backward), module class and precision request. The
 * model's code opens contexts by regions (CSE_SCOPE, CSE_POL, ...); a pass opens one for each node
 * that it replaces or differentiates.
 *
 * The first failure is kept in the graph with the op's name, the inputs' shapes, the scope and the
 * caller's file and line; from then on every call returns the poisoned handle. */
#ifndef CSE_TRACE_TRACE_H
#define CSE_TRACE_TRACE_H

#include "csengine/generated/ops.h"
#include "engine/graph/graph.h"

/* Opens a context without a scope for `graph`, closed by cse_trace_end together with the regions
 * that were left open in it. */
void cse_trace_begin(cse_graph *graph);
/* The same with the place, scope, module class and precision request of `node`. `backward`: new
 * nodes belong to the backward pass; `gradient_of`: the forward node whose gradient they compute,
 * or NULL for none or several. */
void cse_trace_begin_for(cse_graph *graph, const cse_node *node, bool backward,
                         const cse_node *gradient_of);
void cse_trace_end(void);

/* The graph of the innermost context; NULL when nothing is traced. */
cse_graph *cse_trace_graph(void);

/* cse_trace (csengine/op.h) for one and two inputs. */
cse_tensor *cse_trace_1(const cse_op *op, const cse_attributes *attributes, cse_tensor *a);
cse_tensor *cse_trace_2(const cse_op *op, const cse_attributes *attributes, cse_tensor *a,
                        cse_tensor *b);

/* Records a failure in the traced graph (message with the caller's place); returns the poison. */
cse_tensor *cse_trace_fail(cse_status status, const char *format, ...) CSE_PRINTF(2, 3);
bool cse_trace_is_poison(const cse_tensor *tensor);

/* Opens a region for `name` within the scope; a class other than CSE_MODULE_PLAIN replaces that of
 * the module around it. Closed by cse_trace_leave. */
void cse_trace_enter(const char *name, cse_module_class module_class);
/* Opens a region whose nodes have `request`. Levels of 0 keep the enclosing region's, and a
 * disabled GraphAMP stays disabled inside. */
void cse_trace_enter_request(const cse_precision_request *request);
/* Opens a region whose activations are computed again for the backward pass; inside of another one
 * it belongs to that. */
void cse_trace_enter_recompute(void);
/* Closes the innermost region, if the innermost context is one. */
void cse_trace_leave(void);

/* The scope of new nodes: dotted; "" at the top. Lives as long as the graph. */
const char *cse_trace_scope_view(void);

/* Error message of the graph, or CSE_OK. */
cse_status cse_trace_status(const cse_graph *graph);

/* Fails the step with the stored message of `status`, for a call of `op` with these inputs. */
cse_tensor *cse_trace_refuse(const cse_op *op, int count, cse_tensor *const inputs[],
                             cse_status status);

#endif
