/* Which map, and which rule of it, a weight goes by. */
#include <stdio.h>
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

bool cse_map_has_module(const cse_map *map, const char *end)
{
    char wanted[CSE_WEIGHT_NAME_BYTES], pattern[CSE_WEIGHT_NAME_BYTES];
    bool found = false;
    snprintf(wanted, sizeof wanted, "%s.weight", end);
    for (int r = 0; r < map->rule_count && !found; r++) {
        if (map->rules[r].parts == 0)
            continue;
        snprintf(pattern, sizeof pattern, "%s%s",
                 map->prefix != NULL && !map->rules[r].no_prefix ? map->prefix : "",
                 map->rules[r].theirs);
        found = cse_map_is_name(pattern, wanted);
        for (const char *dot = strchr(pattern, '.'); dot != NULL && !found;
             dot = strchr(dot + 1, '.'))
            found = cse_map_is_name(dot + 1, wanted);
    }
    return found;
}

/* Names of a list that the map has not. */
static int unknown_names(const cse_map *map, const cse_yaml_node *targets)
{
    int unknown = 0;
    for (int i = 0; targets->kind == CSE_YAML_SEQUENCE && i < targets->count; i++)
        unknown += !cse_map_has_module(map, targets->children[i]->text);
    return unknown;
}

cse_status cse_map_for_targets(cse_arena *arena, const cse_map_wanted *wanted,
                               const cse_yaml_node *targets, cse_map **map, json_t **facts)
{
    CSE_TRY(cse_map_for_model(arena, wanted, map));
    const bool fits = unknown_names(*map, targets) == 0;
    for (const cse_map_text *row = cse_map_texts; row->name != NULL && !fits; row++) {
        cse_map *other = NULL;
        CSE_TRY(cse_map_load(arena, row->name, &other));
        if (strcmp(other->kind, wanted->kind) == 0 && strcmp(other->model, wanted->model) == 0 &&
            unknown_names(other, targets) == 0 &&
            cse_map_facts(other, arena, wanted->settings, facts) == CSE_OK) {
            *map = other;
            return CSE_OK;
        }
    }
    return cse_map_facts(*map, arena, wanted->settings, facts);
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

/* ---- theirs of ours ---- */

struct cse_map_names {
    cse_arena *arena;
    const cse_map *map;
    bool *applies; /* of each rule */
    bool is_bare;  /* names are written without the prefix */
};

const cse_map_names *cse_map_names_new(cse_arena *arena, const cse_map *map, const json_t *facts)
{
    cse_map_names *names = cse_arena_alloc(arena, sizeof *names);
    *names = (cse_map_names){ .arena = arena, .map = map };
    names->applies = cse_arena_alloc(arena, (size_t)map->rule_count + 1);
    for (int r = 0; r < map->rule_count; r++) {
        const cse_map_rule *rule = &map->rules[r];
        names->applies[r] =
            rule->parts > 0 && !rule->also &&
            (rule->unless == NULL || !cse_map_is_true(map, arena, facts, rule->unless)) &&
            cse_map_holds(map, arena, facts, rule->where);
    }
    names->is_bare =
        map->prefix == NULL || (map->bare != NULL && cse_map_holds(map, arena, facts, map->bare));
    return names;
}

/* The digits that the star of a pattern stands for. */
static const char *number_of(cse_arena *arena, const char *pattern, const char *name)
{
    const char *star = strchr(pattern, '*');
    const char *digits = star != NULL ? name + (star - pattern) : "";
    return cse_arena_printf(arena, "%.*s", (int)strspn(digits, "0123456789"), digits);
}

const char *cse_map_names_of(const cse_map_names *names, const char *ours,
                             const cse_map_rule **rule)
{
    const cse_map *map = names->map;
    for (int r = 0; r < map->rule_count; r++)
        for (int p = 0; p < map->rules[r].parts && names->applies[r]; p++) {
            const cse_map_rule *one = &map->rules[r];
            if (one->stack != NULL || !cse_map_is_name(one->ours[p], ours))
                continue;
            const char *number = number_of(names->arena, one->ours[p], ours);
            const char *star = strchr(one->theirs, '*');
            const char *prefix = names->is_bare || one->no_prefix ? "" : map->prefix;
            *rule = one;
            return star == NULL
                       ? cse_arena_printf(names->arena, "%s%s", prefix, one->theirs)
                       : cse_arena_printf(names->arena, "%s%.*s%s%s", prefix,
                                          (int)(star - one->theirs), one->theirs, number, star + 1);
        }
    return NULL;
}
