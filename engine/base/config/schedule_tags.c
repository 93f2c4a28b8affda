/* Tags are taken out before a schedule's settings are checked, so that no table has to have
 * them. */
#include "engine/base/config/schedule_tags.h"

static const char *const word[] = { "param_group_tags", NULL };

cse_yaml_node *cse_schedule_without_tags(cse_arena *arena, cse_yaml_node *settings)
{
    return cse_yaml_find(settings, word[0]) != NULL ? cse_yaml_without(arena, settings, word)
                                                    : settings;
}

cse_yaml_node *cse_schedule_take_tags(cse_arena *arena, cse_yaml_node *node, cse_yaml_node **tags)
{
    *tags = NULL;
    if (node->kind != CSE_YAML_MAPPING)
        return node;
    const bool keyed = cse_yaml_find(node, "scheduler") == NULL && node->count == 1;
    cse_yaml_node *settings = keyed ? node->children[0] : node;
    cse_yaml_node *found = cse_yaml_find(settings, word[0]);
    if (found == NULL)
        return node;
    found->read = true;
    if (!cse_yaml_is_null(found))
        *tags = found;
    settings = cse_schedule_without_tags(arena, settings);
    if (!keyed)
        return settings;
    cse_yaml_node *named = cse_yaml_mapping_new(arena, node->place);
    cse_yaml_put(arena, named, node->keys[0], settings);
    return named;
}
