/* What adapters need of files of weights: the names that transformers has for the parameters of a
 * model, and settings of folders of PEFT. */
#ifndef CSE_SESSION_ADAPTERS_H
#define CSE_SESSION_ADAPTERS_H

#include "engine/base/arena.h"
#include "engine/base/config/settings.h"
#include "engine/formats/weights/map.h"
#include "engine/nn/adapters/adapter.h"

/* In `arena`; NULL: there is no map of transformers for the model. */
const cse_parameter_names *cse_session_parameter_names(cse_arena *arena, const char *model,
                                                       const cse_settings *settings,
                                                       const cse_adapter_settings *adapter);

/* The settings of a model that were given; NULL: they are a program's own. */
cse_yaml_node *cse_session_given_settings(cse_arena *arena, const cse_settings *settings);
/* The map of transformers for a model and the names in an adapter's target_modules: of several
 * maps that hold for the model the first choice, unless another one alone has all the names.
 * CSE_DATA: there is none. json_decref(*facts). */
typedef struct cse_adapted_model {
    const char *name;
    const cse_settings *settings;
    const cse_adapter_settings *adapter;
} cse_adapted_model;
cse_status cse_session_map_for(cse_arena *arena, const cse_adapted_model *model, cse_map **map,
                               json_t **facts);
/* The section with the settings of the folders that its adapters begin as (peft/settings.h). */
cse_status cse_session_resolve_adapters(cse_arena *arena, cse_yaml_node **adapters);

#endif
