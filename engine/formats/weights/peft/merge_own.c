/* The factors become adapters with our names, which are added as those of PEFT are. */
#include "engine/formats/weights/peft/merge_own.h"

#include <stdlib.h>
#include <string.h>

#include "engine/formats/weights/peft/merged.h"
#include "engine/formats/weights/peft/own.h"
#include "engine/formats/weights/renamed.h"

bool cse_weights_have_adapter(const cse_weights *weights)
{
    bool found = false;
    for (int i = 0; i < weights->count && !found; i++)
        found = cse_peft_is_factor(weights->list[i].name);
    return found;
}

/* The configuration of the model alone. */
static cse_status without_adapter(cse_weights *from, const char **config)
{
    const char *model = NULL;
    cse_yaml_node *settings = NULL;
    cse_text text = { 0 };
    CSE_TRY(cse_map_model_section(from->arena, from->config, &model, &settings));
    cse_yaml_print(cse_map_configuration(from->arena, model, settings), &text);
    *config = cse_arena_string(from->arena, text.data);
    cse_text_clear(&text);
    return CSE_OK;
}

static cse_status open_set(cse_weights *from, const cse_adapter_settings *adapters,
                           cse_peft_set *set)
{
    int count = 0;
    for (const cse_adapter_settings *a = adapters; a != NULL; a = a->next)
        count++;
    set->folders = cse_calloc((size_t)count + 1, sizeof(cse_peft_folder *));
    set->weights = cse_calloc((size_t)count + 1, sizeof(double));
    for (const cse_adapter_settings *a = adapters; a != NULL; a = a->next) {
        if (!a->is_active)
            continue;
        set->weights[set->count] = 1;
        CSE_TRY(cse_peft_own(from, a, &set->folders[set->count++]));
    }
    return CSE_OK;
}

cse_status cse_weights_merge_adapter(cse_weights **weights)
{
    cse_adapter_settings *adapters = NULL;
    cse_weights *from = *weights;
    cse_peft_set set = { .folders = NULL };
    const char *config = NULL;
    if (!cse_weights_have_adapter(from))
        return CSE_OK;
    CSE_TRY(cse_adapter_settings_of(from->arena, from->config, &adapters));
    if (adapters == NULL)
        return cse_fail(CSE_DATA,
                        "%s: holds factors of an adapter, and no configuration with a section "
                        "adapters that says their scale",
                        from->path);
    CSE_TRY(without_adapter(from, &config));
    cse_weights *base = cse_renamed_new(from, false), *inner = base;
    cse_status status = CSE_OK;
    for (int i = 0; i < from->count && status == CSE_OK; i++)
        if (!cse_peft_is_factor(from->list[i].name))
            status = cse_renamed_add(base, i, from->list[i].name);
    base->config = config;
    if (status == CSE_OK)
        status = open_set(from, adapters, &set);
    if (status == CSE_OK)
        status = cse_peft_merge(&base, NULL, &set);
    cse_peft_set_close(&set);
    if (status != CSE_OK) {
        cse_weights_close(&base);
        return status;
    }
    cse_renamed_own(inner);
    *weights = base;
    return CSE_OK;
}
