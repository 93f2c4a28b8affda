/* What a step function says of its step: its inputs, the values for its closures, its scopes. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/modules.h"
#include "engine/base/name.h"
#include "engine/graph/ops/loss_quotient.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/network.h"

/* ---- inputs ---- */

cse_tensor *cse_step_input(cse_step *step, const char *name)
{
    char names[512] = "";
    const cse_graph *graph = step->graph;
    for (int i = 0; i < graph->input_count; i++) {
        if (strcmp(graph->inputs[i].name, name) == 0)
            return graph->inputs[i].node;
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", graph->inputs[i].name);
    }
    return cse_trace_fail(CSE_SHAPE, "the data have no input '%s'; they offer: %s", name, names);
}

cse_tensor *cse_step_optional_input(cse_step *step, const char *name)
{
    const cse_graph *graph = step->graph;
    for (int i = 0; i < graph->input_count; i++)
        if (strcmp(graph->inputs[i].name, name) == 0)
            return graph->inputs[i].node;
    return NULL;
}

static bool is_among(const char *name, const char *const names[])
{
    while (*names != NULL && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

cse_tensor *cse_step_main_input(cse_step *step, const char *name, const char *const others[])
{
    cse_tensor *found = cse_step_optional_input(step, name);
    const cse_graph *graph = step->graph;
    int count = 0;
    for (int i = 0; found == NULL && i < graph->input_count; i++)
        count += !is_among(graph->inputs[i].name, others);
    for (int i = 0; count == 1 && found == NULL && i < graph->input_count; i++)
        if (!is_among(graph->inputs[i].name, others))
            found = graph->inputs[i].node;
    return found != NULL ? found : cse_step_input(step, name);
}

/* ---- sums over the batch ---- */

static cse_tensor *batch_sum(cse_tensor *x, const cse_attributes *attributes)
{
    if (!cse_trace_is_poison(x) && !x->batch)
        return cse_trace_fail(CSE_SHAPE, "batch_sum: the value does not depend on the batch (it is "
                                         "the same for each microbatch)");
    return cse_trace_1(&cse_op_batch_sum, attributes, x);
}

static cse_tensor *mean_of_sum(cse_tensor *sum)
{
    if (cse_trace_is_poison(sum) || cse_trace_graph()->microbatch_count == 1)
        return sum;
    return cse_scale(sum, 1.0 / cse_trace_graph()->microbatch_count);
}

int64_t cse_step_micro_batch_size(const cse_step *step)
{
    return step != NULL ? step->graph->micro_batch_size : 0;
}

int64_t cse_step_batch_size(const cse_step *step)
{
    return step != NULL ? step->graph->micro_batch_size * step->graph->microbatch_count : 0;
}

const char *cse_step_failure(const cse_step *step)
{
    return step->graph->error != CSE_OK ? step->graph->error_message : NULL;
}

/* The mean over the microbatches, and of a loss that is made of quotients the sum of theirs. */
static cse_tensor *whole_mean(cse_tensor *x)
{
    const cse_loss_parts *parts = cse_loss_parts_of(x);
    cse_tensor *total = NULL;
    if (parts == NULL)
        return mean_of_sum(batch_sum(x, NULL));
    for (int i = 0; i < parts->count; i++) {
        const cse_loss_term *term = &parts->terms[i];
        cse_tensor *mean =
            term->value->batch ? mean_of_sum(batch_sum(term->value, NULL)) : term->value;
        mean = term->divisor != NULL ? cse_div(mean, term->divisor) : mean;
        total = total != NULL ? cse_add(total, mean) : mean;
    }
    return total;
}

cse_tensor *cse_batch_sum(cse_tensor *x)
{
    return cse_loss_parts_of(x) == NULL
               ? batch_sum(x, NULL)
               : cse_scale(whole_mean(x), cse_trace_graph()->microbatch_count);
}

cse_tensor *cse_batch_mean(cse_tensor *x)
{
    return whole_mean(x);
}

cse_tensor *cse_batch_mean_named(cse_tensor *x, const char *name)
{
    return mean_of_sum(batch_sum(x, &(cse_attributes){ .text = name }));
}

/* ---- values for closures ---- */

int cse_step_fetch(cse_step *step, const char *name, cse_tensor *value)
{
    char shape[128];
    cse_graph *graph = step->graph;
    if (cse_trace_is_poison(value))
        return -1;
    if (cse_name_check_series("fetched value", name) != CSE_OK) {
        cse_trace_fail(CSE_CONFIG, "%s", cse_error_message());
        return -1;
    }
    if (value->batch && (value->shape.rank != 0 || !cse_dtype_is_float(value->dtype))) {
        cse_trace_fail(
            CSE_SHAPE,
            "%s: a value that depends on the microbatch is handed out as its mean over "
            "the batch, so it must be a float scalar, not %s %s: reduce it (cse_mean_all), "
            "or bring it to the step's level yourself (cse_batch_sum)",
            name, cse_shape_text(value->shape, shape, sizeof shape), cse_dtype_name(value->dtype));
        return -1;
    }
    if (value->batch)
        value = whole_mean(cse_cast(value, CSE_FLOAT32));
    if (value->dtype != CSE_FLOAT32 && value->dtype != CSE_INT32)
        value = cse_cast(value, value->dtype == CSE_BOOL ? CSE_INT32 : CSE_FLOAT32);
    if (cse_trace_is_poison(value))
        return -1;
    for (int i = 0; i < graph->fetch_count; i++)
        if (graph->fetches[i].value == value)
            return i;
    CSE_GROW(graph->fetches, graph->fetch_count, graph->fetch_capacity);
    graph->fetches[graph->fetch_count] =
        (cse_fetch_entry){ .name = cse_arena_string(graph->arena, name), .value = value };
    return graph->fetch_count++;
}

void cse_loss_of_tokens(cse_step *step, cse_tensor *sum, cse_tensor *weights)
{
    const cse_network *network = cse_network_tracing_view("cse_loss_of_tokens");
    (void)step; /* as in other calls, NULL is the step that is traced */
    if (network == NULL)
        return;
    network->traced->token_losses = sum;
    network->traced->token_weights = weights;
}

void cse_closure_add(cse_step *step, const cse_closure_request *request)
{
    int fetches[CSE_MAX_CLOSURE_VALUES];
    cse_arena *arena = step->graph->arena;
    const int count = request->count;
    if (count < 0 || count > CSE_MAX_CLOSURE_VALUES) {
        cse_trace_fail(CSE_USAGE, "a closure takes at most %d tensors", CSE_MAX_CLOSURE_VALUES);
        return;
    }
    for (int i = 0; i < count; i++) {
        fetches[i] = cse_step_fetch(step, "closure", request->tensors[i]);
        if (fetches[i] < 0)
            return;
    }
    CSE_GROW(step->closures, step->closure_count, step->closure_capacity);
    cse_step_closure_entry *entry = &step->closures[step->closure_count++];
    *entry = (cse_step_closure_entry){
        .closure = request->closure,
        .self = request->self,
        .on_checkpoint = request->on_checkpoint,
        .count = count,
        .fetches = cse_arena_alloc(arena, sizeof fetches),
        .tensors = cse_arena_alloc(arena, CSE_MAX_CLOSURE_VALUES * sizeof(cse_tensor *)),
        .value_names = cse_arena_alloc(arena, CSE_MAX_CLOSURE_VALUES * sizeof(char *)),
    };
    for (int i = 0; i < count; i++) {
        cse_tensor *handed = request->tensors[i];
        entry->fetches[i] = fetches[i];
        entry->tensors[i] = handed;
        entry->value_names[i] = cse_arena_printf(
            arena, "%s%s%s", handed->scope, handed->scope[0] != '\0' ? "." : "", handed->op->name);
    }
}

/* Ends the list of tensors that follow `self`. */
static void add_listed(cse_step *step, cse_closure_request request, va_list listed)
{
    cse_tensor *tensors[CSE_MAX_CLOSURE_VALUES + 1];
    cse_tensor *t = va_arg(listed, cse_tensor *);
    for (; t != NULL && request.count <= CSE_MAX_CLOSURE_VALUES; t = va_arg(listed, cse_tensor *))
        tensors[request.count++] = t;
    request.tensors = tensors;
    cse_closure_add(step, &request);
}

void cse_step_closure_list(cse_step *step, cse_closure *closure, void *self, ...)
{
    va_list tensors;
    va_start(tensors, self);
    add_listed(step, (cse_closure_request){ .closure = closure, .self = self }, tensors);
    va_end(tensors);
}

void cse_checkpoint_closure_list(cse_step *step, cse_closure *closure, void *self, ...)
{
    va_list tensors;
    va_start(tensors, self);
    add_listed(step,
               (cse_closure_request){ .closure = closure, .self = self, .on_checkpoint = true },
               tensors);
    va_end(tensors);
}

void cse_step_name_closure(cse_step *step, const char *name)
{
    if (cse_name_check_series("closure", name) != CSE_OK)
        cse_trace_fail(CSE_CONFIG, "%s", cse_error_message());
    else if (step->closure_count > 0)
        step->closures[step->closure_count - 1].name = cse_arena_string(step->graph->arena, name);
}

/* ---- scopes ---- */

void cse_scope_enter(cse_step *step, const char *name)
{
    cse_module_enter(step, name, CSE_MODULE_PLAIN);
}

void cse_module_enter(cse_step *step, const char *name, cse_module_class module_class)
{
    (void)step;
    cse_trace_enter(name, module_class);
}

void cse_scope_leave(cse_step *step, const char *name)
{
    (void)step;
    (void)name;
    cse_trace_leave();
}

void cse_step_destroy(cse_step **step)
{
    if (*step == NULL)
        return;
    cse_graph_destroy(&(*step)->graph);
    free((*step)->closures);
    free(*step);
    *step = NULL;
}
