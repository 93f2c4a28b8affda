/* Gives a model its objective, and the objective its reference. */
#include "engine/nn/objective.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/registry.h"
#include "engine/nn/adapters/adapter.h"
#include "engine/nn/frozen_copy.h"

/* With the adapters off the model is what it began as, unless some of it is trained besides. */
static bool adapter_off_is_reference(const cse_model *model)
{
    bool is_it = model->adapter != NULL;
    for (const cse_adapter *a = model->adapter; a != NULL && is_it; a = a->next)
        is_it = a->given->also_trained == NULL &&
                strcmp(cse_settings_text(a->given->settings, "bias"), "none") == 0;
    return is_it;
}

static cse_status make(const cse_config_plugin *model_plugin, cse_objective *objective)
{
    const cse_objective_descriptor *descriptor = objective->descriptor;
    if (descriptor->check != NULL)
        CSE_TRY(descriptor->check(objective->settings));
    if (descriptor->wants_reference == NULL || !descriptor->wants_reference(objective->settings) ||
        adapter_off_is_reference(objective->model))
        return CSE_OK;
    objective->other = cse_frozen_copy(model_plugin);
    return cse_network_status("objective");
}

bool cse_objective_reference_is_adapter_off(const cse_objective *objective)
{
    const cse_objective_descriptor *descriptor = objective->descriptor;
    return objective->other == NULL && descriptor->wants_reference != NULL &&
           descriptor->wants_reference(objective->settings);
}

cse_status cse_configured_objective(const cse_config_plugin *plugin,
                                    const cse_config_plugin *model_plugin, cse_model *model,
                                    cse_objective **objective)
{
    cse_network *network = cse_network_open_view("cse_configured_objective");
    *objective = NULL;
    if (network == NULL || model == NULL)
        return CSE_USAGE;
    cse_objective *made = cse_arena_alloc(network->arena, sizeof *made);
    *made = (cse_objective){ .descriptor = plugin->descriptor,
                             .settings = plugin->settings,
                             .model = model };
    cse_status status = make(model_plugin, made);
    if (status != CSE_OK)
        return cse_network_fail(cse_fail_within(status, "objective %s: ", made->descriptor->name));
    model->objective = *objective = made;
    return CSE_OK;
}

/* ---- of a program ---- */

static cse_status check_call(const cse_model *model, const char *name)
{
    if (model == NULL)
        return cse_fail(CSE_USAGE, "cse_configure_objective: there is no model");
    if (cse_network_traced_view() != NULL)
        return cse_fail(CSE_USAGE, "cse_configure_objective: a step is traced; call it before the "
                                   "first step");
    if (model->objective != NULL)
        return cse_fail(CSE_USAGE,
                        "cse_configure_objective: the model has the objective %s already, and "
                        "takes no second one (%s)",
                        model->objective->descriptor->name, name);
    return CSE_OK;
}

static cse_status find(const char *name, const cse_objective_descriptor **descriptor)
{
    const void *found = NULL;
    CSE_TRY(cse_registry_get(cse_objectives, "objective", name, &found));
    *descriptor = found;
    return (*descriptor)->teacher == NULL
               ? CSE_OK
               : cse_fail(CSE_USAGE,
                          "objective %s: its %s is read anew at each start, which a configuration "
                          "does (`csengine start`); a program takes objectives without one",
                          name, (*descriptor)->teacher);
}

cse_status cse_configure_objective(const char *name, cse_model *model, const char *settings)
{
    char subject[128];
    const cse_objective_descriptor *descriptor = NULL;
    const cse_settings *checked = NULL;
    cse_objective *objective = NULL;
    snprintf(subject, sizeof subject, "objective %.100s", name);
    cse_yaml_node *tree = cse_network_text("cse_configure_objective", subject, settings);
    if (tree == NULL)
        return cse_network_status("cse_configure_objective");
    cse_status status = check_call(model, name);
    if (status == CSE_OK)
        status = find(name, &descriptor);
    if (status == CSE_OK)
        status = cse_network_check(descriptor->settings, subject, tree, &checked);
    if (status != CSE_OK)
        return cse_network_fail(status);
    const cse_config_plugin plugin = { .name = name,
                                       .descriptor = descriptor,
                                       .settings = (cse_settings *)(uintptr_t)checked };
    const cse_config_plugin of_model = { .name = model->descriptor->name,
                                         .descriptor = model->descriptor,
                                         .settings = (cse_settings *)(uintptr_t)model->settings };
    return cse_configured_objective(&plugin, &of_model, model, &objective);
}
