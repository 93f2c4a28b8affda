/* Which map, and which rule of it, a weight goes by. */
#include <string.h>

#include "engine/formats/weights/map.h"

cse_status cse_map_for_weights(cse_weights *weights, const char *kind, const char *name,
                               cse_map **map, json_t **facts)
{
    const char *model = NULL;
    cse_yaml_node *settings = NULL;
    if (weights->config == NULL)
        return cse_fail(CSE_DATA, "%s: does not say what model it belongs to", weights->path);
    CSE_TRY(cse_map_model_section(weights->arena, weights->config, &model, &settings));
    json_t *origin = weights->origin != NULL ? json_loads(weights->origin, 0, NULL) : NULL;
    const cse_map_wanted wanted = {
        .kind = kind, .model = model, .settings = settings, .origin = origin
    };
    cse_status status = name != NULL ? cse_map_load(weights->arena, name, map)
                                     : cse_map_for_model(weights->arena, &wanted, map);
    json_decref(origin);
    return status == CSE_OK ? cse_map_facts(*map, weights->arena, settings, facts) : status;
}

bool cse_map_is_name(const char *pattern, const char *name)
{
    const char *star = strchr(pattern, '*');
    if (star == NULL)
        return strcmp(pattern, name) == 0;
    const size_t before = (size_t)(star - pattern);
    if (strncmp(pattern, name, before) != 0)
        return false;
    const size_t digits = strspn(name + before, "0123456789");
    return digits > 0 && cse_map_is_name(star + 1, name + before + digits);
}

const cse_map_rule *cse_map_rule_of(const cse_map *map, const char *theirs)
{
    const size_t length = map->prefix != NULL ? strlen(map->prefix) : 0;
    const char *bare =
        length > 0 && strncmp(theirs, map->prefix, length) == 0 ? theirs + length : theirs;
    const cse_map_rule *found = NULL;
    for (int r = 0; r < map->rule_count && found == NULL; r++)
        if (map->rules[r].parts > 0 && (cse_map_is_name(map->rules[r].theirs, bare) ||
                                        cse_map_is_name(map->rules[r].theirs, theirs)))
            found = &map->rules[r];
    return found;
}

bool cse_map_turns(const cse_map *map, const char *theirs)
{
    const cse_map_rule *rule = cse_map_rule_of(map, theirs);
    return rule != NULL && rule->transpose;
}
