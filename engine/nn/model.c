/* Models: building one, and the traced calls into it. */
#include <stdio.h>
#include <string.h>

#include "csengine/modules.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/adapters/adapter.h"
#include "engine/nn/configured.h"
#include "engine/nn/freezing.h"
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
    for (cse_adapter *adapter = model->adapter; adapter != NULL; adapter = adapter->next)
        adapter->names = network->parameter_names != NULL
                             ? network->parameter_names(network->arena, model->descriptor->name,
                                                        model->settings, adapter->given)
                             : NULL;
    model->building = true;
    cse_status status = model->descriptor->build(model, model->settings);
    model->building = false;
    if (status == CSE_OK)
        status = network->error;
    for (const cse_adapter *a = model->adapter; a != NULL && status == CSE_OK; a = a->next)
        status = cse_adapter_check(a);
    if (status == CSE_OK)
        status = cse_freezing_check(network->freezing);
    if (status != CSE_OK)
        return cse_fail_within(status, "%s: ", subject);
    return CSE_OK;
}

static cse_model *begin_model(cse_network *network, const cse_model_descriptor *descriptor)
{
    cse_model *model = cse_arena_alloc(network->arena, sizeof *model);
    model->descriptor = descriptor;
    CSE_GROW(network->models, network->model_count, network->model_capacity);
    return network->models[network->model_count++] = model;
}

static cse_model *make_model(cse_network *network, const cse_model_descriptor *descriptor,
                             const cse_settings *settings, cse_yaml_node *tree)
{
    cse_model *model = begin_model(network, descriptor);
    model->adapter = network->adapter;
    cse_status status = build(network, model, settings, tree);
    if (status == CSE_OK)
        return model;
    cse_network_fail(status);
    return NULL;
}

cse_model *cse_frozen_model(const char *role, const cse_config_plugin *plugin)
{
    cse_network *network = cse_network_open_view("cse_frozen_model");
    if (network == NULL)
        return NULL;
    cse_model *model = begin_model(network, plugin->descriptor);
    model->role = role;
    model->compiled = true;
    cse_status status = build(network, model, plugin->settings, plugin->tree);
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
