/* Models: building one, and the traced calls into it. */
#include <math.h>
#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "csengine/modules.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/adapters/adapter.h"
#include "engine/nn/configured.h"
#include "engine/nn/plugin_find.h"

static cse_status check_descriptor(const cse_model_descriptor *descriptor)
{
    if (descriptor->abi != CSE_MODEL_ABI)
        return cse_fail(
            CSE_DATA,
            "model %s was written for version %d of the model contract, this engine has "
            "%d; compile it against this engine's csengine/model.h",
            descriptor->name, descriptor->abi, CSE_MODEL_ABI);
    if (descriptor->settings == NULL || descriptor->build == NULL || descriptor->forward == NULL)
        return cse_fail(CSE_DATA, "model %s: settings, build and forward must be given",
                        descriptor->name);
    return CSE_OK;
}

/* `settings` are checked; when NULL, `tree` is checked here against the model's table. */
static cse_status build(cse_network *network, cse_model *model, const cse_settings *settings,
                        cse_yaml_node *tree)
{
    char subject[256];
    CSE_TRY(check_descriptor(model->descriptor));
    snprintf(subject, sizeof subject, "model %s", model->descriptor->name);
    if (settings == NULL)
        CSE_TRY(cse_network_check(model->descriptor->settings, subject, tree, &settings));
    model->settings = settings;
    model->self = cse_arena_alloc(network->arena, model->descriptor->self_bytes);
    model->building = true;
    cse_status status = model->descriptor->build(model, model->settings);
    model->building = false;
    if (status == CSE_OK)
        status = network->error;
    if (status == CSE_OK && model->adapter != NULL)
        status = cse_adapter_check(model->adapter);
    if (status != CSE_OK)
        return cse_fail_within(status, "%s: ", subject);
    return CSE_OK;
}

static cse_model *make_model(cse_network *network, const cse_model_descriptor *descriptor,
                             const cse_settings *settings, cse_yaml_node *tree)
{
    cse_model *model = cse_arena_alloc(network->arena, sizeof *model);
    model->descriptor = descriptor;
    model->adapter = network->adapter;
    CSE_GROW(network->models, network->model_count, network->model_capacity);
    network->models[network->model_count++] = model;
    cse_status status = build(network, model, settings, tree);
    if (status == CSE_OK)
        return model;
    cse_network_fail(status);
    return NULL;
}

cse_model *cse_model_define(const cse_model_descriptor *descriptor, const char *settings)
{
    char subject[256];
    snprintf(subject, sizeof subject, "model %s", descriptor->name);
    cse_yaml_node *tree = cse_network_text("cse_model_define", subject, settings);
    return tree != NULL
               ? make_model(cse_network_open_view("cse_model_define"), descriptor, NULL, tree)
               : NULL;
}

cse_model *cse_model_new(const char *name, const char *settings)
{
    const void *descriptor = NULL;
    const cse_plugin_wanted wanted = { .kind = "model", .name = name, .table = cse_models };
    if (cse_network_open_view("cse_model_new") == NULL)
        return NULL;
    cse_status status = cse_network_plugin_find(&wanted, &descriptor, NULL);
    if (status == CSE_OK)
        return cse_model_define(descriptor, settings);
    cse_network_fail(status);
    return NULL;
}

cse_model *cse_model_load(const char *library, const char *name, const char *settings)
{
    const void *descriptor = NULL;
    const cse_plugin_wanted wanted = { .kind = "model", .library = library, .name = name };
    cse_network *network = cse_network_open_view("cse_model_load");
    if (network == NULL)
        return NULL;
    cse_status status = cse_network_plugin_find(&wanted, &descriptor, NULL);
    if (status == CSE_OK)
        return cse_model_define(descriptor, settings);
    cse_network_fail(status);
    return NULL;
}

cse_model *cse_configured_model(const cse_config_plugin *plugin)
{
    cse_network *network = cse_network_open_view("cse_configured_model");
    return network != NULL ? make_model(network, plugin->descriptor, plugin->settings, plugin->tree)
                           : NULL;
}

/* Its states are there already, and their computation is the program's own. */
cse_model *cse_model_from_states(const char *name, cse_state *const states[], int count)
{
    cse_network *network = cse_network_open_view("cse_model_from_states");
    if (network == NULL)
        return NULL;
    cse_model_descriptor *descriptor = cse_arena_alloc(network->arena, sizeof *descriptor);
    cse_model *model = cse_arena_alloc(network->arena, sizeof *model);
    *descriptor = (cse_model_descriptor){ .name = cse_arena_string(network->arena, name),
                                          .summary = "states of a program",
                                          .abi = CSE_MODEL_ABI };
    model->descriptor = descriptor;
    CSE_GROW(network->models, network->model_count, network->model_capacity);
    network->models[network->model_count++] = model;
    for (int i = 0; i < count; i++) {
        if (states[i] == NULL || states[i]->dtype != CSE_FLOAT32) {
            cse_network_fail(cse_fail(CSE_SHAPE,
                                      "model %s: state %d (%s) is no float32 state; parameters are",
                                      name, i, states[i] != NULL ? states[i]->name : "NULL"));
            return NULL;
        }
        states[i]->trainable = true;
        CSE_GROW(model->parameters, model->parameter_count, model->parameter_capacity);
        model->parameters[model->parameter_count++] = states[i];
    }
    return model;
}

cse_model *cse_compile(cse_model *model)
{
    if (model == NULL)
        return NULL;
    model->compiled = true;
    model->training = true;
    return model;
}

void cse_eval_mode(cse_model *model)
{
    if (model != NULL)
        model->training = false;
}

void cse_train_mode(cse_model *model)
{
    if (model != NULL)
        model->training = true;
}

bool cse_is_training(const cse_model *model)
{
    return model->training;
}

void *cse_model_self(cse_model *model)
{
    return model->self;
}

const cse_settings *cse_model_settings_view(const cse_model *model)
{
    return model->settings;
}

const char *cse_model_text(cse_model *model, const char *format, ...)
{
    va_list arguments;
    char text[512];
    const cse_network *network = cse_network_open_view("cse_model_text");
    (void)model; /* models live as long as the session */
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return network != NULL ? cse_arena_string(network->arena, text) : "";
}

/* ---- parameters ---- */

static cse_state *declare(cse_model *model, const char *name, const cse_state_options *options)
{
    if (!model->building) {
        cse_network_fail(
            cse_fail(CSE_USAGE,
                     "model %s: '%s' is declared outside of the model's build function; "
                     "a model has all its parameters when it is made",
                     model->descriptor->name, name));
        return NULL;
    }
    cse_state *state = cse_network_state(options, "model.%s", name);
    if (state != NULL) {
        CSE_GROW(model->parameters, model->parameter_count, model->parameter_capacity);
        model->parameters[model->parameter_count++] = state;
    }
    return state;
}

cse_status cse_model_freeze(cse_model *model, const char *pattern)
{
    char why[128];
    regex_t expression;
    const int failed = regcomp(&expression, pattern, REG_EXTENDED | REG_NOSUB);
    if (failed != 0) {
        regerror(failed, &expression, why, sizeof why);
        return cse_fail(CSE_CONFIG, "\"%.80s\" is no regular expression: %s", pattern, why);
    }
    regfree(&expression);
    CSE_GROW(model->frozen, model->frozen_count, model->frozen_capacity);
    model->frozen[model->frozen_count++] = cse_model_text(model, "%s", pattern);
    return CSE_OK;
}

static bool is_frozen(const cse_model *model, const char *name)
{
    bool found = model->adapter != NULL && !cse_adapter_trains(model->adapter, name);
    for (int i = 0; i < model->frozen_count && !found; i++) {
        regex_t expression;
        if (regcomp(&expression, model->frozen[i], REG_EXTENDED | REG_NOSUB) != 0)
            continue;
        found = regexec(&expression, name, 0, NULL, 0) == 0;
        regfree(&expression);
    }
    return found;
}

cse_state *cse_parameter(cse_model *model, const char *name, cse_shape shape,
                         cse_initializer initializer)
{
    return declare(model, name,
                   &(cse_state_options){ .shape = shape,
                                         .dtype = CSE_FLOAT32,
                                         .initializer = initializer,
                                         .trainable = !is_frozen(model, name) });
}

cse_state *cse_model_adapter_parameter(cse_model *model, const char *name, cse_shape shape,
                                       cse_initializer initializer)
{
    return declare(
        model, name,
        &(cse_state_options){
            .shape = shape, .dtype = CSE_FLOAT32, .initializer = initializer, .trainable = true });
}

void cse_parameter_rate(cse_state *parameter, double factor)
{
    if (parameter != NULL)
        parameter->rate_factor = factor;
}

void cse_parameter_of_norm(cse_state *parameter)
{
    if (parameter != NULL)
        parameter->of_norm = true;
}

cse_state *cse_buffer(cse_model *model, const char *name, cse_shape shape,
                      cse_initializer initializer)
{
    return declare(
        model, name,
        &(cse_state_options){ .shape = shape, .dtype = CSE_FLOAT32, .initializer = initializer });
}

int cse_parameter_tensors(const cse_model *model)
{
    int count = 0;
    for (int i = 0; model != NULL && i < model->parameter_count; i++)
        count += model->parameters[i]->trainable;
    return count;
}

int64_t cse_parameter_count(const cse_model *model)
{
    int64_t elements = 0;
    for (int i = 0; model != NULL && i < model->parameter_count; i++)
        if (model->parameters[i]->trainable)
            elements += cse_shape_elements(model->parameters[i]->shape);
    return elements;
}

cse_state *cse_parameter_at(cse_model *model, int index)
{
    for (int i = 0; model != NULL && i < model->parameter_count; i++)
        if (model->parameters[i]->trainable && index-- == 0)
            return model->parameters[i];
    return NULL;
}

cse_linear_layer cse_linear_parameters(cse_model *model, const char *name, int64_t in, int64_t out,
                                       bool bias)
{
    double bound = 1 / sqrt((double)in);
    const cse_initializer uniform = { CSE_INIT_UNIFORM, -bound, bound };
    cse_linear_layer layer = { NULL, NULL, NULL };
    layer.weight = cse_parameter(model, cse_model_text(model, "%s.weight", name),
                                 cse_shape_of(out, in), uniform);
    if (bias)
        layer.bias = cse_parameter(model, cse_model_text(model, "%s.bias", name), cse_shape_of(out),
                                   uniform);
    layer.adapter = cse_adapter_declare(model, name, in, out);
    return layer;
}

cse_tensor *cse_apply_linear(cse_linear_layer layer, cse_tensor *x)
{
    /* Separate statements, since C leaves the evaluation order of arguments open. */
    cse_tensor *weight = cse_read(layer.weight);
    cse_tensor *y = cse_linear(x, weight, layer.bias ? cse_read(layer.bias) : NULL);
    return layer.adapter != NULL ? cse_add(y, cse_low_rank_apply(layer.adapter, x)) : y;
}

/* ---- traced calls ---- */

bool cse_model_may_trace(const cse_model *model, const char *caller)
{
    if (model == NULL)
        cse_trace_fail(CSE_USAGE, "%s: there is no model", caller);
    else if (model->descriptor->forward == NULL)
        cse_trace_fail(CSE_USAGE,
                       "%s: model %s consists of states (cse_model_from_states): the program "
                       "traces what they compute",
                       caller, model->descriptor->name);
    else if (!model->compiled)
        cse_trace_fail(CSE_USAGE, "%s: model %s is not compiled; call cse_compile(model) first",
                       caller, model->descriptor->name);
    return model != NULL && model->descriptor->forward != NULL && model->compiled;
}

cse_tensor *cse_forward(cse_model *model, cse_tensor *input)
{
    cse_graph *graph = cse_trace_graph();
    if (!cse_model_may_trace(model, "cse_forward"))
        return graph ? graph->poison : NULL;
    cse_trace_enter("model", CSE_MODULE_PLAIN);
    cse_tensor *output = model->descriptor->forward(model, input);
    cse_trace_leave();
    return output;
}
