/* The words of `precision` that decide, of settings that are checked and of a tree that is not. */
#include "engine/base/config/compute_format.h"

#include <strings.h>

/* Of `enabled: true` alone. */
static const char by_itself[] = "bfloat16";

cse_compute_format cse_compute_format_of(const cse_settings *precision)
{
    const bool has_type = cse_settings_has(precision, "fp16_type");
    const bool has_switch = cse_settings_has(precision, "enabled");
    if (has_switch && !cse_settings_bool(precision, "enabled"))
        return (cse_compute_format){ .setting = "enabled" };
    if (has_type)
        return (cse_compute_format){ cse_settings_text(precision, "fp16_type"), "fp16_type" };
    if (has_switch)
        return (cse_compute_format){ by_itself, "enabled" };
    return (cse_compute_format){ .name = NULL };
}

/* In any case: the check refuses those that YAML does not have. */
static bool is_word(const cse_yaml_node *node, const char *word)
{
    return node != NULL && node->kind == CSE_YAML_SCALAR && !node->quoted &&
           strcasecmp(node->text, word) == 0;
}

bool cse_compute_format_is_low(const cse_yaml_node *precision)
{
    if (precision == NULL || precision->kind != CSE_YAML_MAPPING)
        return false;
    const cse_yaml_node *enabled = cse_yaml_find(precision, "enabled");
    const cse_yaml_node *type = cse_yaml_find(precision, "fp16_type");
    if (is_word(enabled, "false"))
        return false;
    return (type != NULL && !cse_yaml_is_null(type)) || is_word(enabled, "true");
}
