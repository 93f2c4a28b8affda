/* Metrics: states that a step updates. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/name.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/configured.h"
#include "engine/nn/network.h"
#include "engine/nn/plugin_find.h"

static cse_state *metric_state(const char *label, const char *name, cse_shape shape,
                               cse_dtype dtype, double initial)
{
    return cse_network_state(&(cse_state_options){ .shape = shape,
                                                   .dtype = dtype,
                                                   .initializer = { CSE_INIT_CONSTANT, initial, 0 },
                                                   .transient = true },
                             "metrics.%s.%s", label, name);
}

static cse_status read_settings(const char *name, const char *text, cse_config_plugin *plugin)
{
    char subject[128];
    cse_plugin_wanted wanted = { .kind = "metric", .name = name, .table = cse_metrics };
    snprintf(subject, sizeof subject, "metric %s", name);
    CSE_TRY(cse_network_parse(subject, text, &plugin->tree));
    CSE_TRY(cse_network_take_library(plugin->tree, &wanted.library));
    CSE_TRY(cse_network_plugin_find(&wanted, &plugin->descriptor, NULL));
    return cse_network_check(((const cse_metric_descriptor *)plugin->descriptor)->settings, subject,
                             plugin->tree, &plugin->settings);
}

static void declare_states(cse_metric *metric)
{
    const cse_metric_descriptor *descriptor = metric->descriptor;
    for (int s = 0; s < descriptor->state_count; s++) {
        const cse_declared_state *state = &descriptor->states[s];
        cse_shape shape = cse_scalar_shape;
        if (!state->scalar) {
            const int64_t length =
                cse_settings_integer(metric->settings, descriptor->length_setting);
            shape = state->square ? cse_shape_of(length, length) : cse_shape_of(length);
        }
        metric->states[s] =
            metric_state(metric->label, state->name, shape, CSE_FLOAT32, state->initial);
    }
    metric->value = metric_state(metric->label, "value", cse_scalar_shape, CSE_FLOAT32, 0);
    metric->updates = metric_state(metric->label, "updates", cse_scalar_shape, CSE_INT32, 0);
}

cse_metric *cse_configured_metric(const cse_config_plugin *plugin, const char *label)
{
    cse_network *network = cse_network_open_view("cse_configure_metric");
    const cse_metric_descriptor *descriptor = plugin->descriptor;
    if (network == NULL)
        return NULL;
    cse_status status = cse_name_check_series("metric", label);
    if (status == CSE_OK && descriptor->check != NULL)
        status = descriptor->check(plugin->settings);
    if (status != CSE_OK) {
        cse_network_fail(status);
        return NULL;
    }
    cse_metric *metric = cse_arena_alloc(network->arena, sizeof *metric);
    *metric = (cse_metric){ .descriptor = descriptor,
                            .settings = plugin->settings,
                            .label = cse_arena_string(network->arena, label) };
    declare_states(metric);
    return metric->updates != NULL ? metric : NULL;
}

cse_metric *cse_configure_metric(const char *name, const char *label, const char *settings)
{
    cse_config_plugin plugin = { .name = name };
    if (cse_network_open_view("cse_configure_metric") == NULL)
        return NULL;
    cse_status status = read_settings(name, settings, &plugin);
    if (status == CSE_OK)
        return cse_configured_metric(&plugin, label);
    cse_network_fail(status);
    return NULL;
}

cse_metric *cse_metric_new(const char *name, const char *label)
{
    return cse_configure_metric(name, label, NULL);
}

static cse_tensor *trace_update(cse_metric *metric, cse_metric_step *step)
{
    step->settings = metric->settings;
    for (int s = 0; s < metric->descriptor->state_count; s++)
        step->states[s] = cse_read(metric->states[s]);
    cse_scope_enter(NULL, metric->label);
    metric->descriptor->update(step);
    cse_tensor *updates = cse_add(cse_read(metric->updates), cse_constant_int(1));
    for (int s = 0; s < metric->descriptor->state_count; s++)
        cse_assign(metric->states[s], step->next_states[s]);
    cse_assign(metric->value, step->value);
    cse_assign(metric->updates, updates);
    cse_scope_leave(NULL, metric->label);
    return step->value;
}

cse_tensor *cse_metric_update_array(cse_metric *metric, cse_tensor *const tensors[], int count)
{
    cse_metric_step step = { .value = NULL };
    cse_graph *graph = cse_trace_graph();
    if (graph == NULL || metric == NULL)
        return graph ? cse_trace_fail(CSE_USAGE, "cse_metric_update: there is no metric") : NULL;
    for (int i = 0; i < count && i < CSE_MAX_METRIC_ARGUMENTS; i++) {
        step.arguments[i] = tensors[i];
        if (cse_trace_is_poison(tensors[i]))
            return graph->poison;
    }
    if (count < metric->descriptor->min_arguments || count > metric->descriptor->max_arguments)
        return cse_trace_fail(CSE_USAGE, "metric %s takes (%s), not %d tensors",
                              metric->descriptor->name, metric->descriptor->arguments, count);
    return trace_update(metric, &step);
}

cse_tensor *cse_metric_update_list(cse_metric *metric, ...)
{
    cse_tensor *tensors[CSE_MAX_METRIC_ARGUMENTS];
    int count = 0;
    va_list arguments;
    va_start(arguments, metric);
    for (cse_tensor *t = va_arg(arguments, cse_tensor *); t != NULL;
         t = va_arg(arguments, cse_tensor *)) {
        if (count < CSE_MAX_METRIC_ARGUMENTS)
            tensors[count] = t;
        count++;
    }
    va_end(arguments);
    return cse_metric_update_array(metric, tensors, count);
}

/* Resetting needs no checkpoint, since checkpoints do not hold a metric's states. */
cse_status cse_metric_reset(cse_metric *metric)
{
    cse_network *network = cse_network_open_view("cse_metric_reset");
    if (network == NULL || metric == NULL)
        return network == NULL ? CSE_USAGE
                               : cse_fail(CSE_USAGE, "cse_metric_reset: there is no metric");
    if (network->traced != NULL || network->executing)
        return cse_fail(CSE_USAGE,
                        "cse_metric_reset: metric %s cannot be reset inside a step or "
                        "while an execution runs",
                        metric->label);
    for (int s = 0; s < metric->descriptor->state_count; s++) {
        float *values = cse_state_values(network, metric->states[s]);
        for (int64_t i = 0; i < cse_shape_elements(metric->states[s]->shape); i++)
            values[i] = (float)metric->descriptor->states[s].initial;
    }
    memset(cse_state_values(network, metric->value), 0, sizeof(float));
    memset(cse_state_values(network, metric->updates), 0, sizeof(int32_t));
    return CSE_OK;
}
