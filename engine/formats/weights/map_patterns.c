/* Names of weights and the patterns of a map's rules: a star is the number of a layer. */
#include <string.h>

#include "engine/base/arena.h"
#include "engine/formats/weights/map.h"
#include "engine/formats/weights/map_values.h"

const char *cse_map_expand(cse_arena *arena, const char *pattern, int layer)
{
    const char *star = strchr(pattern, '*');
    return star == NULL ? pattern
                        : cse_arena_printf(arena, "%.*s%d%s", (int)(star - pattern), pattern, layer,
                                           star + 1);
}

/* transformers 5 saves some names with the star. */
bool cse_map_matches(const char *pattern, const char *name)
{
    const char *star = strchr(pattern, '*');
    if (strcmp(pattern, name) == 0)
        return true;
    if (star == NULL)
        return false;
    const size_t length = (size_t)(star - pattern);
    if (strncmp(pattern, name, length) != 0)
        return false;
    const size_t digits = strspn(name + length, "0123456789");
    return digits > 0 && strcmp(name + length + digits, star + 1) == 0;
}

const char *cse_map_without_prefix(const cse_map *map, const char *name)
{
    const size_t length = map->prefix != NULL ? strlen(map->prefix) : 0;
    return length > 0 && strncmp(name, map->prefix, length) == 0 ? name + length : name;
}

const char *cse_map_of_other_age(const cse_map *map, cse_arena *arena, const char *name,
                                 bool to_older)
{
    const cse_yaml_node *ends = map->older_ends;
    const size_t length = strlen(name);
    for (int i = 0; ends != NULL && i < ends->count; i++) {
        const char *newer = ends->keys[i].text, *older = ends->children[i]->text;
        const char *from = to_older ? newer : older, *to = to_older ? older : newer;
        const size_t tail = strlen(from);
        if (length > tail && strcmp(name + length - tail, from) == 0)
            return cse_arena_printf(arena, "%.*s%s", (int)(length - tail), name, to);
    }
    return NULL;
}

/* The first of the facts that does not have a value asked for, as "enable_bias true"; NULL: all
 * have one. */
static const char *missed(const cse_map *map, cse_arena *arena, const json_t *facts,
                          const cse_yaml_node *where)
{
    for (int i = 0; where != NULL && i < where->count; i++) {
        cse_yaml_node one = *where;
        one.count = 1;
        one.keys = &where->keys[i];
        one.children = &where->children[i];
        if (!cse_map_holds(map, arena, facts, &one))
            return cse_arena_printf(arena, "%s %s", where->keys[i].text,
                                    cse_map_first_of(where->children[i]));
    }
    return NULL;
}

const char *cse_map_left_because(const cse_map *map, cse_arena *arena, const json_t *facts,
                                 const char *name)
{
    name = cse_map_without_prefix(map, name);
    for (int i = 0; i < map->rule_count; i++) {
        const cse_map_rule *rule = &map->rules[i];
        if (rule->parts == 0 || !cse_map_matches(rule->theirs, name))
            continue;
        if (rule->unless != NULL && cse_map_is_true(map, arena, facts, rule->unless))
            return cse_arena_printf(arena, ", which a model with %s true does not have",
                                    rule->unless);
        const char *fact = missed(map, arena, facts, rule->where);
        if (fact != NULL)
            return cse_arena_printf(arena, ", which only a model with %s has", fact);
    }
    return "";
}
