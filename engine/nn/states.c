/* States: declared once in the network and bound to each graph that uses them. The network holds
 * their values between executions. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/name.h"
#include "engine/base/pages.h"
#include "engine/base/types/narrow.h"
#include "engine/base/types/packed/packed.h"
#include "engine/base/types/shape.h"
#include "engine/code/execute/execute.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/adapters/adapter.h"
#include "engine/nn/freezing.h"
#include "engine/nn/network.h"
#include "engine/nn/packed_parameters.h"

size_t cse_state_bytes(const cse_state *state)
{
    return (size_t)cse_shape_elements(state->shape) * cse_dtype_size(state->dtype);
}

static cse_status check_new_state(const cse_network *network, const cse_state_options *options,
                                  const char *name)
{
    char shape[128];
    CSE_TRY(options->transient ? cse_name_check_series("state", name)
                               : cse_name_check_path("state", name));
    if (network->traced != NULL)
        return cse_fail(CSE_USAGE,
                        "state '%s' is made inside a step, which is traced once: it would be new "
                        "and lose its value in every step; make it before cse_run",
                        name);
    if (options->dtype != CSE_FLOAT32 && options->dtype != CSE_INT32 && !options->of_optimizer)
        return cse_fail(CSE_SHAPE, "state '%s' is %s; states are float32 or int32", name,
                        cse_dtype_name(options->dtype));
    for (int i = 0; i < options->shape.rank; i++)
        if (options->shape.dims[i] < 1)
            return cse_fail(CSE_SHAPE, "state '%s' has shape %s; sizes must be at least 1", name,
                            cse_shape_text(options->shape, shape, sizeof shape));
    if (cse_name_index_find(&network->state_names, name) >= 0)
        return cse_fail(CSE_USAGE, "there is a state '%s' already; names are unique", name);
    return CSE_OK;
}

cse_state *cse_network_state(const cse_state_options *options, const char *name_format, ...)
{
    char name[512];
    va_list arguments;
    va_start(arguments, name_format);
    vsnprintf(name, sizeof name, name_format, arguments);
    va_end(arguments);
    cse_network *network = cse_network_open_view(name);
    if (network == NULL)
        return NULL;
    cse_status status = check_new_state(network, options, name);
    if (status != CSE_OK) {
        if (network->traced != NULL)
            cse_trace_fail(status, "%s", cse_error_message());
        else
            cse_network_fail(status);
        return NULL;
    }
    return cse_network_add_state(network, name, options);
}

cse_state *cse_network_add_state(cse_network *network, const char *name,
                                 const cse_state_options *options)
{
    cse_state *state = cse_arena_alloc(network->arena, sizeof *state);
    *state = (cse_state){ .name = cse_arena_string(network->arena, name),
                          .shape = options->shape,
                          .dtype = options->dtype,
                          .initializer = options->initializer,
                          .trainable = options->trainable,
                          .persistent = !options->transient,
                          .index = -1 };
    cse_name_index_add(&network->state_names, state->name, network->state_count);
    CSE_GROW(network->states, network->state_count, network->state_capacity);
    return network->states[network->state_count++] = state;
}

cse_state *cse_state_new(const char *name, cse_shape shape, cse_dtype dtype,
                         cse_initializer initializer)
{
    return cse_network_state(
        &(cse_state_options){ .shape = shape, .dtype = dtype, .initializer = initializer }, "%s",
        name);
}

const char *cse_state_name_view(const cse_state *state)
{
    return state->name;
}

cse_shape cse_state_shape(const cse_state *state)
{
    return state->shape;
}

cse_dtype cse_state_dtype(const cse_state *state)
{
    return state->dtype;
}

/* ---- values ---- */

static void unsettle(cse_state *state)
{
    if (state->rule != NULL && state->rule->unsettle != NULL)
        state->rule->unsettle(state);
}

void *cse_state_own_values(cse_state *state)
{
    if (state->borrowed)
        cse_state_release_values(state);
    unsettle(state);
    state->source = NULL;
    if (state->values == NULL)
        state->values = cse_pages_new(cse_state_bytes(state));
    return state->values;
}

void cse_state_borrow_values(cse_state *state, const void *values)
{
    cse_state_release_values(state);
    unsettle(state);
    state->values = (void *)(uintptr_t)values;
    state->borrowed = true;
}

void cse_state_release_values(cse_state *state)
{
    if (!state->borrowed)
        cse_pages_release(state->values, cse_state_bytes(state));
    state->values = NULL;
    state->source = NULL;
    state->borrowed = false;
}

/* Initial values are computed by a graph that holds only this state. */
static void initialize(cse_network *network, cse_state *state)
{
    if (state->rule != NULL && state->rule->fill != NULL) {
        state->rule->fill(network, state);
        return;
    }
    cse_graph *graph = cse_graph_new(1, 1);
    int index = cse_state_bind(graph, state);
    state->index = -1;
    const size_t bytes = (size_t)graph->space_bytes[CSE_SPACE_STATE];
    unsigned char *space = cse_pages_new(bytes);
    cse_states_initialize(graph, network->seed, space);
    memcpy(cse_state_own_values(state), space + graph->states[index].offset_bytes,
           cse_state_bytes(state));
    cse_pages_release(space, bytes);
    cse_graph_destroy(&graph);
    cse_state_round_held(state);
}

static void round_held(const cse_state *state, int64_t count, float *values)
{
    for (int64_t i = 0; state->bfloat16 && i < count; i++)
        values[i] = cse_round_bfloat16(values[i]);
}

void cse_state_take_source(cse_state *state, const cse_state_source *source)
{
    cse_state_release_values(state);
    unsettle(state);
    state->source = source;
}

cse_status cse_state_read_source(cse_state *state, void *place)
{
    const cse_state_source *source = state->source;
    state->source = NULL;
    CSE_TRY(source->read(source, state, place));
    round_held(state, cse_shape_elements(state->shape), place);
    return CSE_OK;
}

static void read_values(cse_state *state)
{
    void *values = cse_pages_new(cse_state_bytes(state));
    const cse_status status = cse_state_read_source(state, values);
    if (status != CSE_OK)
        cse_network_fail(status);
    state->values = values;
}

void *cse_state_values(cse_network *network, cse_state *state)
{
    if (state->values == NULL && state->source != NULL)
        read_values(state);
    if (state->values == NULL)
        initialize(network, state);
    if (state->rule != NULL && state->rule->settle != NULL)
        state->rule->settle(network, state);
    return state->values;
}

void cse_state_round_held(cse_state *state)
{
    round_held(state, cse_shape_elements(state->shape), state->values);
}

bool cse_state_is_initial(const cse_state *state)
{
    return state->values == NULL && state->source == NULL && state->rule == NULL &&
           !state->constant;
}

bool cse_state_make_part(const cse_network *network, const cse_state *state, int64_t first,
                         int64_t count, void *place)
{
    const cse_state_entry entry = { .name = state->name,
                                    .shape = state->shape,
                                    .dtype = state->dtype,
                                    .initializer = state->initializer };
    if (cse_initial_zeros(&state->initializer))
        return false;
    cse_state_initialize_part(&entry, network->seed, first, count, place);
    round_held(state, count, place);
    return true;
}

bool cse_state_move_values(cse_network *network, cse_state *state, unsigned char *place)
{
    if (cse_state_is_initial(state))
        return cse_state_make_part(network, state, 0, cse_shape_elements(state->shape), place);
    memcpy(place, cse_state_values(network, state), cse_state_bytes(state));
    cse_state_release_values(state);
    return true;
}

void cse_state_hold_bfloat16(cse_state *state)
{
    state->bfloat16 = true;
    if (state->values != NULL)
        cse_state_round_held(state);
}

static cse_status check_size(const cse_state *state, size_t bytes, const char *caller)
{
    if (bytes != cse_state_bytes(state))
        return cse_fail(CSE_SHAPE, "%s: state '%s' has %zu bytes, not %zu", caller, state->name,
                        cse_state_bytes(state), bytes);
    return CSE_OK;
}

cse_status cse_network_may_read(const cse_network *network, const char *caller)
{
    if (network->states_lost)
        return cse_fail(CSE_USAGE,
                        "%s: the last execution failed, and its states with it: load a checkpoint "
                        "first",
                        caller);
    return CSE_OK;
}

cse_status cse_network_may_change(const cse_network *network, const char *caller)
{
    if (network->traced != NULL)
        return cse_fail(CSE_USAGE,
                        "%s: states have no value while a step is traced; use cse_assign", caller);
    if (network->executing)
        return cse_fail(CSE_USAGE, "%s: states cannot be changed while an execution runs", caller);
    if (network->locked && !network->states_lost)
        return cse_fail(CSE_USAGE,
                        "%s: states may be changed between executions only if the last one took a "
                        "checkpoint on its last step; give that executor checkpoint_steps",
                        caller);
    return CSE_OK;
}

static cse_status check_readable(const cse_network *network, const cse_state *state,
                                 const char *caller)
{
    if (state == NULL)
        return cse_fail(CSE_USAGE, "%s: there is no state", caller);
    if (network->traced != NULL || (network->executing && !network->states_standing))
        return cse_fail(CSE_USAGE,
                        "%s: state '%s' cannot be read now: inside a step use cse_read, during an "
                        "execution a checkpoint closure or a checkpoint step of the loop",
                        caller, state->name);
    return cse_network_may_read(network, caller);
}

cse_status cse_state_get(cse_state *state, void *values, size_t bytes)
{
    cse_network *network = cse_network_open_view("cse_state_get");
    if (network == NULL)
        return CSE_USAGE;
    CSE_TRY(check_readable(network, state, "cse_state_get"));
    CSE_TRY(check_size(state, bytes, "cse_state_get"));
    memcpy(values, cse_state_values(network, state), bytes);
    return CSE_OK;
}

const void *cse_state_view(cse_state *state)
{
    cse_network *network = cse_network_open_view("cse_state_view");
    if (network == NULL || check_readable(network, state, "cse_state_view") != CSE_OK)
        return NULL;
    return cse_state_values(network, state);
}

cse_status cse_state_set(cse_state *state, const void *values, size_t bytes)
{
    cse_network *network = cse_network_open_view("cse_state_set");
    if (network == NULL || state == NULL)
        return network == NULL ? CSE_USAGE
                               : cse_fail(CSE_USAGE, "cse_state_set: there is no state");
    CSE_TRY(cse_network_may_read(network, "cse_state_set"));
    CSE_TRY(cse_network_may_change(network, "cse_state_set"));
    CSE_TRY(check_size(state, bytes, "cse_state_set"));
    memcpy(cse_state_own_values(state), values, bytes);
    cse_state_round_held(state);
    return CSE_OK;
}

/* ---- in a step ---- */

int cse_state_bind(cse_graph *graph, cse_state *state)
{
    if (state->index >= 0)
        return state->index;
    const cse_state_entry entry = { .name = state->name,
                                    .shape = state->shape,
                                    .dtype = state->dtype,
                                    .initializer = state->initializer,
                                    .trainable = state->trainable,
                                    .constant = state->constant ? state->values : NULL };
    /* Names and types were checked when the state was made. */
    if (cse_graph_add_state(graph, &entry, &state->index) != CSE_OK)
        abort();
    return state->index;
}

/* The graph being traced, or NULL with an error. */
static cse_graph *traced_graph(const char *caller, const cse_state *state)
{
    const cse_network *network = cse_network_tracing_view(caller);
    if (network == NULL)
        return NULL;
    if (state == NULL) {
        cse_trace_fail(CSE_USAGE, "%s: there is no state", caller);
        return NULL;
    }
    return network->traced->graph;
}

cse_tensor *cse_read(cse_state *state)
{
    cse_graph *graph = traced_graph("cse_read", state);
    if (graph == NULL)
        return cse_trace_graph() ? cse_trace_graph()->poison : NULL;
    if (state->average != NULL && cse_network_traced_view()->reads_averages)
        state = state->average;
    int index = cse_state_bind(graph, state);
    cse_node *next = graph->states[index].next;
    if (state->packed != NULL)
        return cse_unpack_weight(cse_graph_state_node(graph, index), state->packed->number,
                                 state->columns);
    return next != NULL ? next : cse_graph_state_node(graph, index);
}

void cse_assign(cse_state *state, cse_tensor *value)
{
    char has[128], wants[128];
    cse_graph *graph = traced_graph("cse_assign", state);
    if (graph == NULL || cse_trace_is_poison(value))
        return;
    if (!cse_shape_equal(value->shape, state->shape) || value->dtype != state->dtype) {
        cse_trace_fail(CSE_SHAPE, "cse_assign: state '%s' is %s %s, the value %s %s", state->name,
                       cse_shape_text(state->shape, wants, sizeof wants),
                       cse_dtype_name(state->dtype), cse_shape_text(value->shape, has, sizeof has),
                       cse_dtype_name(value->dtype));
        return;
    }
    if (value->batch) {
        cse_trace_fail(
            CSE_SHAPE,
            "cse_assign: the value for state '%s' depends on the microbatch; sum it over "
            "the batch first (cse_batch_sum, cse_batch_mean)",
            state->name);
        return;
    }
    const int index = cse_state_bind(graph, state); /* may move the table of states */
    graph->states[index].next = value;
}

void cse_network_clear(cse_network *network)
{
    for (int i = 0; i < network->state_count; i++)
        cse_state_release_values(network->states[i]);
    for (int i = 0; i < network->model_count; i++) {
        free(network->models[i]->parameters);
        free(network->models[i]->frozen);
    }
    for (int i = 0; i < network->optimizer_count; i++) {
        free(network->optimizers[i]->optimized);
        free(network->optimizers[i]->groups);
    }
    cse_adapter_clear(network->adapter);
    cse_packed_parameters_clear(network->packed);
    cse_freezing_clear(network->freezing);
    cse_precision_destroy(&network->precision);
    cse_name_index_clear(&network->state_names);
    free(network->states);
    free(network->models);
    free(network->optimizers);
    free(network->failure);
}
