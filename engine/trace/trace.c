/* The thread's tracing state: graph, place in the caller's source, scope. */
#include "engine/trace/trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/types/shape.h"

enum { SCOPE_BYTES = 512, MAX_REQUEST_DEPTH = 64 };

static _Thread_local struct {
    cse_graph *graph;
    const char *file;
    int line;
    char scope[SCOPE_BYTES];
    const char *kept_scope; /* copy of `scope` in the graph's arena; NULL when it is stale */
    bool backward;
    const cse_node *dual_of;
    cse_precision_request request;
    cse_precision_request enclosing[MAX_REQUEST_DEPTH];
    int request_depth;
} tracing;

cse_graph *cse_trace_begin(cse_graph *graph)
{
    cse_graph *before = tracing.graph;
    tracing.graph = graph;
    tracing.file = NULL;
    tracing.scope[0] = '\0';
    tracing.kept_scope = NULL;
    tracing.backward = false;
    tracing.dual_of = NULL;
    tracing.request = (cse_precision_request){ 0 };
    tracing.request_depth = 0;
    return before;
}

cse_graph *cse_trace_graph(void)
{
    return tracing.graph;
}

void cse_at(const char *file, int line)
{
    tracing.file = file;
    tracing.line = line;
}

void cse_trace_enter(const char *name)
{
    size_t used = strlen(tracing.scope);
    snprintf(tracing.scope + used, SCOPE_BYTES - used, "%s%s", used ? "." : "", name);
    tracing.kept_scope = NULL;
}

void cse_trace_leave(void)
{
    char *dot = strrchr(tracing.scope, '.');
    *(dot ? dot : tracing.scope) = '\0';
    tracing.kept_scope = NULL;
}

const char *cse_trace_scope_view(void)
{
    return tracing.scope;
}

void cse_trace_on_behalf(const cse_tensor *node, bool backward)
{
    tracing.file = node ? node->file : NULL;
    tracing.line = node ? node->line : 0;
    snprintf(tracing.scope, SCOPE_BYTES, "%s", node ? node->scope : "");
    tracing.kept_scope = NULL;
    tracing.backward = backward;
    tracing.request = node ? node->request : (cse_precision_request){ 0 };
    tracing.dual_of = node && backward && !node->backward ? node : node ? node->dual_of : NULL;
}

void cse_trace_as_junction(void)
{
    tracing.dual_of = NULL;
}

void cse_trace_request_enter(const cse_precision_request *request)
{
    if (tracing.request_depth < MAX_REQUEST_DEPTH)
        tracing.enclosing[tracing.request_depth] = tracing.request;
    else
        cse_trace_fail(CSE_USAGE, "precision regions are nested more than %d deep",
                       MAX_REQUEST_DEPTH);
    tracing.request_depth++;
    if (request->graphamp_off)
        tracing.request.graphamp_off = true;
    if (request->pol_forward > 0)
        tracing.request.pol_forward = request->pol_forward;
    if (request->pol_backward > 0)
        tracing.request.pol_backward = request->pol_backward;
}

void cse_trace_request_leave(void)
{
    if (tracing.request_depth > 0 && --tracing.request_depth < MAX_REQUEST_DEPTH)
        tracing.request = tracing.enclosing[tracing.request_depth];
}

cse_tensor *cse_trace_fail(cse_status status, const char *format, ...)
{
    char text[2048], place[512] = "";
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (tracing.graph == NULL)
        return NULL;
    if (tracing.graph->error == CSE_OK) {
        if (tracing.file != NULL)
            snprintf(place, sizeof place, "%s:%d: ", tracing.file, tracing.line);
        tracing.graph->error = status;
        tracing.graph->error_message = cse_arena_printf(
            tracing.graph->arena, "%s%s%s%s%s", place, text, tracing.scope[0] ? " (in scope '" : "",
            tracing.scope, tracing.scope[0] ? "')" : "");
    }
    return tracing.graph->poison;
}

bool cse_trace_is_poison(const cse_tensor *tensor)
{
    return tensor == NULL || tracing.graph == NULL || tensor == tracing.graph->poison;
}

cse_status cse_trace_status(const cse_graph *graph)
{
    return graph->error == CSE_OK ? CSE_OK : cse_fail(graph->error, "%s", graph->error_message);
}

/* "add([64, 500] float32, [300] float32): <what the rule says>". */
static cse_tensor *fail_for(const cse_op *op, int count, cse_tensor *const inputs[],
                            cse_status status)
{
    char call[768], shape[128];
    size_t used = (size_t)snprintf(call, sizeof call, "%s(", op->name);
    for (int i = 0; i < count && used < sizeof call; i++)
        used += (size_t)snprintf(call + used, sizeof call - used, "%s%s %s", i ? ", " : "",
                                 cse_shape_text(inputs[i]->shape, shape, sizeof shape),
                                 cse_dtype_name(inputs[i]->dtype));
    return cse_trace_fail(status, "%s): %s", call, cse_error_message());
}

cse_tensor *cse_trace(const cse_op *op, const cse_attributes *attributes, int input_count,
                      cse_tensor *const inputs[])
{
    if (tracing.graph == NULL) {
        cse_fail(CSE_USAGE, "%s was called outside a step function", op->name);
        return NULL;
    }
    for (int i = 0; i < input_count; i++) {
        if (inputs[i] == NULL)
            return cse_trace_fail(CSE_SHAPE, "%s: input %d is NULL, not a tensor", op->name, i);
        if (cse_trace_is_poison(inputs[i]))
            return tracing.graph->poison;
    }
    cse_node *node;
    cse_status status =
        cse_graph_add(tracing.graph, op, attributes, (cse_operands){ input_count, inputs }, &node);
    if (status != CSE_OK)
        return fail_for(op, input_count, inputs, status);
    if (tracing.kept_scope == NULL)
        tracing.kept_scope = cse_arena_string(tracing.graph->arena, tracing.scope);
    node->scope = tracing.kept_scope;
    node->file = tracing.file;
    node->line = tracing.line;
    node->backward = tracing.backward;
    node->request = tracing.request;
    node->dual_of = tracing.dual_of;
    return node;
}

cse_tensor *cse_trace_1(const cse_op *op, const cse_attributes *attributes, cse_tensor *a)
{
    return cse_trace(op, attributes, 1, &a);
}

cse_tensor *cse_trace_2(const cse_op *op, const cse_attributes *attributes, cse_tensor *a,
                        cse_tensor *b)
{
    return cse_trace(op, attributes, 2, (cse_tensor *[]){ a, b });
}

cse_tensor *cse_trace_broadcast_2(const cse_op *op, cse_tensor *a, cse_tensor *b)
{
    if (a == NULL || b == NULL || cse_trace_is_poison(a) || cse_trace_is_poison(b))
        return cse_trace_2(op, NULL, a, b);
    cse_shape common;
    if (!cse_shape_broadcast(a->shape, b->shape, &common)) {
        cse_fail(CSE_SHAPE, "the shapes do not broadcast: aligned at the right, two sizes must be "
                            "equal or one of them 1");
        return fail_for(op, 2, (cse_tensor *[]){ a, b }, CSE_SHAPE);
    }
    if (!cse_shape_equal(a->shape, common))
        a = cse_broadcast_to(a, common);
    if (!cse_shape_equal(b->shape, common))
        b = cse_broadcast_to(b, common);
    return cse_trace_2(op, NULL, a, b);
}

cse_shape cse_tensor_shape(const cse_tensor *tensor)
{
    return tensor ? tensor->shape : cse_scalar_shape;
}

cse_dtype cse_tensor_dtype(const cse_tensor *tensor)
{
    return tensor ? tensor->dtype : CSE_FLOAT32;
}

double cse_item(const cse_tensor *tensor)
{
    char shape[128];
    if (!cse_trace_is_poison(tensor))
        cse_trace_fail(CSE_USAGE,
                       "a tensor (%s of %s) has no value while the step is traced; pass it to a "
                       "step closure to read it, or use where() to choose by it",
                       tensor->op->name, cse_shape_text(tensor->shape, shape, sizeof shape));
    return 0;
}
