/* The rule of reference_defaults.h. */
#include "engine/config/reference_defaults.h"

#include <string.h>

static bool is_word(const cse_yaml_node *node, const char *word)
{
    return node != NULL && node->kind == CSE_YAML_SCALAR && !node->quoted &&
           strcmp(node->text, word) == 0;
}

static bool is_for_csx(const cse_yaml_node *init)
{
    const cse_yaml_node *type = cse_yaml_find(cse_yaml_find(init, "backend"), "backend_type");
    return type != NULL && type->kind == CSE_YAML_SCALAR && strcmp(type->text, "CSX") == 0;
}

void cse_config_take_defaults(cse_arena *arena, const cse_yaml_node *trainer)
{
    const cse_yaml_node *init = cse_yaml_find(trainer, "init");
    cse_yaml_node *precision = cse_yaml_find(init, "precision");
    const cse_yaml_node *enabled = cse_yaml_find(precision, "enabled");
    if (precision == NULL || precision->kind != CSE_YAML_MAPPING ||
        cse_yaml_find(precision, "fp16_type") != NULL)
        return;
    if (is_word(enabled, "true") || is_word(enabled, "True") ||
        (enabled == NULL && is_for_csx(init)))
        cse_yaml_put(arena, precision, (cse_yaml_key){ "fp16_type", precision->place },
                     cse_yaml_scalar_new(arena, precision->place, "bfloat16"));
}
