/* The thread's stack of trace contexts, and nodes that are made in the innermost one. */
#include "engine/graph/trace/trace.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/name.h"
#include "engine/base/types/shape.h"

enum { MAX_DEPTH = 128 };

typedef struct context {
    cse_graph *graph; /* NULL: nothing is traced */
    bool begun;       /* by cse_trace_begin, not by a region of the model's code */
    const char *file; /* where the model's code called; in the graph's arena */
    int line;
    /* What new nodes are given; see cse_node. */
    const char *scope;
    bool backward;
    const cse_node *gradient_of;
    cse_module_class module_class;
    cse_precision_request request;
    int recompute_block;
} context;

/* Context 0 is that of a thread that traces nothing. */
static _Thread_local struct {
    context contexts[MAX_DEPTH];
    int depth;
} stack = { .contexts = { { .scope = "" } } };

static context *innermost(void)
{
    return &stack.contexts[stack.depth];
}

static context *push(context next)
{
    assert(stack.depth + 1 < MAX_DEPTH);
    stack.contexts[++stack.depth] = next;
    return innermost();
}

void cse_trace_begin(cse_graph *graph)
{
    assert(graph != NULL);
    push((context){ .graph = graph, .begun = true, .scope = "" });
}

void cse_trace_begin_for(cse_graph *graph, const cse_node *node, bool backward,
                         const cse_node *gradient_of)
{
    assert(graph != NULL && node != NULL);
    push((context){ .graph = graph,
                    .begun = true,
                    .file = node->file,
                    .line = node->line,
                    .scope = node->scope,
                    .backward = backward,
                    .gradient_of = gradient_of,
                    .module_class = node->module_class,
                    .request = node->request,
                    .recompute_block = node->recompute_block });
}

void cse_trace_end(void)
{
    while (stack.depth > 0 && !innermost()->begun)
        stack.depth--;
    assert(stack.depth > 0);
    stack.depth--;
}

cse_graph *cse_trace_graph(void)
{
    return innermost()->graph;
}

void cse_at(const char *file, int line)
{
    context *at = innermost();
    if (at->graph == NULL)
        return;
    /* The caller's text need not live on, and mostly is the one of the call before. */
    if (at->file == NULL || strcmp(at->file, file) != 0)
        at->file = cse_arena_string(at->graph->arena, file);
    at->line = line;
}

/* Enters a region of the model's code: a copy of the innermost context, for the caller to change.
 * NULL when nothing is traced or regions are nested too deep. The latter fails the step; leaving a
 * region that was not entered then has no effect. */
static context *enter_region(void)
{
    if (innermost()->graph == NULL)
        return NULL;
    if (stack.depth + 2 >= MAX_DEPTH) {
        cse_trace_fail(CSE_USAGE, "scopes and precision regions are nested more than %d deep",
                       MAX_DEPTH - 2);
        return NULL;
    }
    context *region = push(*innermost());
    region->begun = false;
    return region;
}

void cse_trace_enter(const char *name, cse_module_class module_class)
{
    context *region = enter_region();
    if (region == NULL)
        return;
    const char *scope = cse_arena_printf(region->graph->arena, "%s%s%s", region->scope,
                                         region->scope[0] != '\0' ? "." : "", name);
    if (cse_name_check_series("scope", name) != CSE_OK ||
        cse_name_check_series("scope", scope) != CSE_OK)
        cse_trace_fail(CSE_CONFIG, "%s", cse_error_message());
    else
        region->scope = scope;
    if (module_class != CSE_MODULE_PLAIN)
        region->module_class = module_class;
}

void cse_trace_enter_request(const cse_precision_request *request)
{
    context *region = enter_region();
    if (region == NULL)
        return;
    region->request.graphamp_off |= request->graphamp_off;
    region->request.observes |= request->observes;
    if (request->pol_forward > 0)
        region->request.pol_forward = request->pol_forward;
    if (request->pol_backward > 0)
        region->request.pol_backward = request->pol_backward;
}

void cse_trace_enter_recompute(void)
{
    context *region = enter_region();
    if (region != NULL && region->recompute_block == 0)
        region->recompute_block = ++region->graph->recompute_blocks;
}

void cse_trace_leave(void)
{
    const context left = *innermost();
    if (stack.depth == 0 || left.begun)
        return;
    stack.depth--;
    innermost()->file = left.file;
    innermost()->line = left.line;
}

const char *cse_trace_scope_view(void)
{
    return innermost()->scope;
}

cse_tensor *cse_trace_fail(cse_status status, const char *format, ...)
{
    char text[2048], place[512] = "";
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const context *at = innermost();
    if (at->graph == NULL)
        return NULL;
    if (at->graph->error == CSE_OK) {
        if (at->file != NULL)
            snprintf(place, sizeof place, "%s:%d: ", at->file, at->line);
        at->graph->error = status;
        at->graph->error_message = cse_arena_printf(at->graph->arena, "%s%s%s%s%s", place, text,
                                                    at->scope[0] ? " (in scope '" : "", at->scope,
                                                    at->scope[0] ? "')" : "");
    }
    return at->graph->poison;
}

bool cse_trace_is_poison(const cse_tensor *tensor)
{
    const cse_graph *graph = innermost()->graph;
    return tensor == NULL || graph == NULL || tensor == graph->poison;
}

cse_status cse_trace_status(const cse_graph *graph)
{
    return graph->error == CSE_OK ? CSE_OK : cse_fail(graph->error, "%s", graph->error_message);
}

/* "add([64, 500] float32, [300] float32): <what the rule says>". */
cse_tensor *cse_trace_refuse(const cse_op *op, int count, cse_tensor *const inputs[],
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
    const context *at = innermost();
    if (at->graph == NULL) {
        cse_fail(CSE_USAGE, "%s was called outside a step function", op->name);
        return NULL;
    }
    for (int i = 0; i < input_count; i++) {
        if (inputs[i] == NULL)
            return cse_trace_fail(CSE_SHAPE, "%s: input %d is NULL, not a tensor", op->name, i);
        if (cse_trace_is_poison(inputs[i]))
            return at->graph->poison;
    }
    cse_node *node;
    cse_status status =
        cse_graph_add(at->graph, op, attributes, (cse_operands){ input_count, inputs }, &node);
    if (status != CSE_OK)
        return cse_trace_refuse(op, input_count, inputs, status);
    node->scope = at->scope;
    node->file = at->file;
    node->line = at->line;
    node->backward = at->backward;
    node->gradient_of = at->gradient_of;
    node->module_class = at->module_class;
    node->request = at->request;
    node->recompute_block = at->recompute_block;
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

cse_shape cse_tensor_shape(const cse_tensor *tensor)
{
    return tensor ? tensor->shape : cse_scalar_shape;
}

bool cse_tensor_is_batch(const cse_tensor *tensor)
{
    return tensor != NULL && tensor->batch;
}

bool cse_tensor_failed(const cse_tensor *tensor)
{
    return tensor == NULL || cse_trace_is_poison(tensor);
}

cse_tensor *cse_tensor_input(const cse_tensor *tensor, int index)
{
    return tensor != NULL && index >= 0 && index < tensor->input_count ? tensor->inputs[index]
                                                                       : NULL;
}

int cse_tensor_input_count(const cse_tensor *tensor)
{
    return tensor != NULL ? tensor->input_count : 0;
}

const cse_attributes *cse_tensor_attributes_view(const cse_tensor *tensor)
{
    static const cse_attributes none = { 0 };
    return tensor != NULL ? &tensor->attributes : &none;
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
