/* Gives a model its objective, and the objective its reference. */
#include "engine/nn/objective.h"

#include <string.h>

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
