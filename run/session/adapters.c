/* By the map of transformers for the model with these settings. */
#include "run/session/adapters.h"

#include <string.h>

#include "engine/formats/weights/map.h"
#include "engine/formats/weights/peft/settings.h"
#include "engine/nn/adapters/adapter.h"

static const char *name_of(const void *self, const char *parameter, bool *is_part)
{
    const cse_map_rule *rule = NULL;
    const char *theirs = cse_map_names_of(self, parameter, &rule);
    *is_part = theirs != NULL && rule->parts > 1;
    return theirs;
}

cse_yaml_node *cse_session_given_settings(cse_arena *arena, const cse_settings *settings)
{
    const char *text = cse_settings_canonical(settings);
    cse_yaml_node *all = NULL;
    if (text == NULL || cse_yaml_parse(arena, "model", text, strlen(text), &all) != CSE_OK)
        return NULL;
    cse_yaml_node *given = cse_yaml_mapping_new(arena, all->place);
    for (int i = 0; i < all->count; i++)
        if (cse_settings_given(settings, all->keys[i].text))
            cse_yaml_put(arena, given, all->keys[i], all->children[i]);
    return given;
}

cse_status cse_session_map_for(cse_arena *arena, const cse_adapted_model *model, cse_map **map,
                               json_t **facts)
{
    cse_yaml_node *given = cse_session_given_settings(arena, model->settings);
    const cse_map_wanted wanted = { .kind = "hugging_face",
                                    .model = model->name,
                                    .settings = given };
    return given != NULL
               ? cse_map_for_targets(arena, &wanted, model->adapter->targets, map, facts)
               : cse_fail(CSE_DATA, "model %s has no settings that a map could go by", model->name);
}

const cse_parameter_names *cse_session_parameter_names(cse_arena *arena, const char *model,
                                                       const cse_settings *settings,
                                                       const cse_adapter_settings *adapter)
{
    cse_map *map = NULL;
    json_t *facts = NULL;
    const cse_adapted_model adapted = { model, settings, adapter };
    if (cse_session_map_for(arena, &adapted, &map, &facts) != CSE_OK)
        return NULL;
    cse_parameter_names *found = cse_arena_alloc(arena, sizeof *found);
    const cse_map_names *names = cse_map_names_new(arena, map, facts);
    json_decref(facts);
    *found = (cse_parameter_names){ .of = name_of, .self = names };
    return found;
}

cse_status cse_session_resolve_adapters(cse_arena *arena, cse_yaml_node **adapters)
{
    return cse_peft_resolve(arena, *adapters, adapters);
}
