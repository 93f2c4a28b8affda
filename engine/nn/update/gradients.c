/* Gradients as tensors of step level: each is a `gradient` node, which autodiff replaces, and its
 * mean over the microbatches. Updates by an optimizer and those that a program writes by itself are
 * made of the same nodes. */
#include "engine/nn/update/gradients.h"

#include <stdlib.h>
#include <string.h>

#include "csengine/generated/ops.h"
#include "engine/graph/ops/loss_quotient.h"
#include "engine/graph/precision/precision.h"
#include "engine/graph/trace/trace.h"

/* One that was taken in the step that is traced. */
typedef struct cse_taken_gradient {
    cse_tensor *loss, *value;
    struct cse_taken_gradient *next;
} taken_gradient;

const char *cse_short_name(const char *state)
{
    const char *prefix = "model.";
    size_t length = strlen(prefix);
    return strncmp(state, prefix, length) == 0 ? state + length : state;
}

/* Further gradients of one state have streams of random numbers of their own, where their sums are
 * rounded stochastically. */
static cse_tensor *mean_over_batch(cse_tensor *gradient, const cse_state *state)
{
    int before = 0;
    const char *name = state->name;
    for (const taken_gradient *t = state->gradients; t != NULL; t = t->next)
        before++;
    if (before > 0)
        name = cse_arena_printf(cse_trace_graph()->arena, "%s#%d", name, before + 1);
    return cse_batch_mean_named(gradient, name);
}

static cse_tensor *keep_taken(cse_graph *graph, cse_state *state, cse_tensor *loss,
                              cse_tensor *value)
{
    taken_gradient *taken = cse_arena_alloc(graph->arena, sizeof *taken);
    *taken = (taken_gradient){ .loss = loss, .value = value, .next = state->gradients };
    state->gradients = taken;
    return value;
}

/* By node: whether float values lead from it to the loss. Release with free. */
static bool *nodes_before(const cse_graph *graph, const cse_tensor *loss)
{
    bool *before = cse_calloc(graph->next_id + 1, sizeof *before);
    before[loss->id] = true;
    for (int n = graph->node_count - 1; n >= 0; n--) {
        const cse_node *node = graph->nodes[n];
        if (!before[node->id] || node->op == &cse_op_gradient)
            continue;
        for (int i = 0; i < node->input_count; i++)
            if (cse_dtype_is_float(node->inputs[i]->dtype))
                before[node->inputs[i]->id] = true;
    }
    return before;
}

static bool leads_to(const cse_graph *graph, const cse_tensor *read, const cse_tensor *loss)
{
    bool *before = nodes_before(graph, loss);
    const bool leads = before[read->id];
    free(before);
    return leads;
}

/* The sum of the gradients of a loss's parts, each over its divisor. */
static cse_tensor *gradient_of_parts(const cse_loss_parts *parts, cse_state *state,
                                     cse_tensor *read)
{
    cse_graph *graph = cse_trace_graph();
    cse_tensor *total = NULL;
    for (int i = 0; i < parts->count; i++) {
        const cse_loss_term *term = &parts->terms[i];
        if (parts->count > 1 && !leads_to(graph, read, term->value))
            continue;
        cse_tensor *gradient = cse_trace_2(&cse_op_gradient, NULL, term->value, read);
        if (cse_trace_is_poison(gradient))
            return gradient;
        gradient = gradient->batch ? mean_over_batch(gradient, state) : gradient;
        if (parts->count > 1) /* the next one has a stream of its own */
            keep_taken(graph, state, term->value, gradient);
        gradient = term->divisor != NULL ? cse_div(gradient, term->divisor) : gradient;
        total = total != NULL ? cse_add(total, gradient) : gradient;
    }
    return total != NULL ? total : cse_full(read->shape, 0);
}

cse_tensor *cse_gradient_of(cse_tensor *loss, cse_state *state)
{
    cse_graph *graph = cse_trace_graph();
    for (const taken_gradient *t = state->gradients; t != NULL; t = t->next)
        if (t->loss == loss)
            return t->value;
    cse_tensor *read = cse_graph_state_node(graph, cse_state_bind(graph, state));
    const cse_loss_parts *parts = cse_loss_parts_of(loss);
    if (parts != NULL)
        return keep_taken(graph, state, loss, gradient_of_parts(parts, state, read));
    cse_tensor *gradient = cse_trace_2(&cse_op_gradient, NULL, loss, read);
    if (cse_trace_is_poison(gradient))
        return gradient;
    return keep_taken(graph, state, loss,
                      gradient->batch ? mean_over_batch(gradient, state) : gradient);
}

const char *cse_gradient_name_view(const cse_tensor *gradient)
{
    const cse_network *network = cse_network_open_view("cse_gradients");
    if (!cse_trace_is_poison(gradient) && gradient->op == &cse_op_where)
        gradient = gradient->inputs[1]; /* of the elements that are selected */
    for (int i = 0; network != NULL && i < network->state_count; i++)
        for (const taken_gradient *t = network->states[i]->gradients; t != NULL; t = t->next)
            if (t->value == gradient)
                return network->states[i]->name;
    return NULL;
}

/* ---- which states a loss depends on ---- */

static bool is_before(const cse_graph *graph, const bool *before, const cse_state *state)
{
    const cse_node *read = state->index >= 0 ? graph->states[state->index].read : NULL;
    return read != NULL && before[read->id];
}

/* ---- the public calls ---- */

bool cse_loss_is_differentiable(const char *caller, const cse_tensor *loss)
{
    char shape[128];
    if (cse_trace_is_poison(loss))
        return false;
    if (cse_trace_graph()->differentiating) {
        cse_trace_fail(CSE_USAGE, "%s: gradients cannot be taken in a custom gradient's callback",
                       caller);
        return false;
    }
    if (loss->shape.rank == 0 && loss->dtype == CSE_FLOAT32)
        return true;
    cse_trace_fail(CSE_SHAPE, "%s: the loss must be a float32 scalar, not %s %s: take its mean",
                   caller, cse_shape_text(loss->shape, shape, sizeof shape),
                   cse_dtype_name(loss->dtype));
    return false;
}

static bool has_gradient(const cse_state *state)
{
    if (state == NULL) {
        cse_trace_fail(CSE_USAGE, "cse_gradients: there is no state");
        return false;
    }
    if (state->dtype == CSE_FLOAT32)
        return true;
    cse_trace_fail(CSE_SHAPE, "cse_gradients: state '%s' is %s; only float32 states have gradients",
                   state->name, cse_dtype_name(state->dtype));
    return false;
}

void cse_gradients(cse_tensor *loss, cse_state *const states[], int count, cse_tensor *gradients[])
{
    const cse_network *network = cse_network_tracing_view("cse_gradients");
    for (int i = 0; i < count; i++)
        gradients[i] = network != NULL ? network->traced->graph->poison : NULL;
    if (network == NULL || !cse_loss_is_differentiable("cse_gradients", loss))
        return;
    const cse_graph *graph = network->traced->graph;
    bool *before = nodes_before(graph, loss);
    for (int i = 0; i < count && has_gradient(states[i]); i++)
        gradients[i] =
            is_before(graph, before, states[i]) ? cse_gradient_of(loss, states[i]) : NULL;
    free(before);
}

void cse_step_train(cse_step *step)
{
    const cse_network *network = cse_network_tracing_view("cse_step_train");
    (void)step; /* as in the other calls, NULL is the step that is traced */
    if (network != NULL)
        network->traced->training = true;
}

bool cse_clip_is_valid(const char *caller, const cse_clip *clip)
{
    if (clip->max_norm > 0 && clip->max_value > 0)
        cse_trace_fail(CSE_USAGE, "%s: max_norm and max_value exclude each other", caller);
    else if (!(clip->max_norm >= 0) || !(clip->max_value >= 0))
        cse_trace_fail(CSE_USAGE, "%s: max_norm and max_value must not be negative", caller);
    else
        return true;
    return false;
}

static cse_tensor *sum_of_squares(cse_tensor *const gradients[], int count)
{
    cse_tensor *total = NULL;
    for (int i = 0; i < count; i++) {
        if (gradients[i] == NULL)
            continue;
        cse_tensor *squares = cse_sum_all(cse_square(gradients[i]));
        total = total != NULL ? cse_add(total, squares) : squares;
    }
    return total != NULL ? total : cse_constant(0);
}

cse_tensor *cse_clip_gradients(cse_tensor *gradients[], int count, const cse_clip *clip)
{
    static const cse_clip none = { 0, 0 };
    const char *caller = "cse_clip_gradients";
    const cse_network *network = cse_network_tracing_view(caller);
    clip = clip != NULL ? clip : &none;
    if (network == NULL || !cse_clip_is_valid(caller, clip))
        return cse_trace_graph() ? cse_trace_graph()->poison : NULL;
    network->traced->clipped |= clip->max_norm > 0 || clip->max_value > 0;
    cse_tensor *squares = sum_of_squares(gradients, count);
    cse_tensor *factor = clip->max_norm > 0 ? cse_clip_factor(squares, clip->max_norm) : NULL;
    for (int i = 0; i < count; i++) {
        if (gradients[i] == NULL)
            continue;
        if (factor != NULL)
            gradients[i] = cse_mul(gradients[i], factor);
        if (clip->max_value > 0)
            gradients[i] = cse_clip_to_value(gradients[i], clip->max_value);
    }
    return cse_sqrt(squares);
}

/* ---- gradients of the program's own ---- */

static bool may_have_custom(const cse_custom_function *function)
{
    const char *caller = "cse_custom_gradient";
    if (function->input_count < 1 || function->input_count >= CSE_MAX_INPUTS ||
        function->output_count < 1 || function->backward == NULL) {
        cse_trace_fail(CSE_USAGE, "%s: takes 1 to %d inputs, outputs and a callback", caller,
                       CSE_MAX_INPUTS - 1);
        return false;
    }
    bool batch = false;
    for (int i = 0; i < function->input_count; i++) {
        if (cse_trace_is_poison(function->inputs[i]))
            return false;
        batch = batch || function->inputs[i]->batch;
    }
    for (int k = 0; k < function->output_count; k++) {
        const cse_tensor *output = function->outputs[k];
        if (cse_trace_is_poison(output))
            return false;
        if (!cse_dtype_is_float(output->dtype) || output->batch != batch) {
            cse_trace_fail(CSE_SHAPE, "%s: output %d %s", caller, k,
                           output->batch != batch
                               ? "does not depend on the inputs as their level says: outputs of "
                                 "inputs that depend on the microbatch must depend on it, too"
                               : "has an integer type, which has no gradient");
            return false;
        }
    }
    return true;
}

static void *copied(cse_arena *arena, const void *array, int count)
{
    void *copy = cse_arena_alloc(arena, (size_t)count * sizeof(cse_tensor *));
    memcpy(copy, array, (size_t)count * sizeof(cse_tensor *));
    return copy;
}

void cse_custom_gradient(const cse_custom_function *function)
{
    const cse_network *network = cse_network_tracing_view("cse_custom_gradient");
    cse_tensor *inputs[CSE_MAX_INPUTS];
    if (network == NULL || !may_have_custom(function))
        return;
    cse_graph *graph = network->traced->graph;
    CSE_GROW(graph->customs, graph->custom_count, graph->custom_capacity);
    cse_custom_entry *entry = &graph->customs[graph->custom_count];
    *entry = (cse_custom_entry){
        .function = *function,
        .nodes =
            cse_arena_alloc(graph->arena, (size_t)function->output_count * sizeof(cse_tensor *)),
    };
    entry->function.inputs = copied(graph->arena, function->inputs, function->input_count);
    entry->function.outputs = copied(graph->arena, function->outputs, function->output_count);
    memcpy(inputs + 1, function->inputs, (size_t)function->input_count * sizeof *inputs);
    for (int k = 0; k < function->output_count; k++) {
        const cse_attributes attributes = { .integer_count = 2,
                                            .integers = { graph->custom_count, k } };
        inputs[0] = function->outputs[k];
        entry->nodes[k] = cse_trace(&cse_op_custom, &attributes, function->input_count + 1, inputs);
        function->outputs[k] = entry->nodes[k];
    }
    if (!cse_trace_is_poison(entry->nodes[0]))
        graph->custom_count++;
}
