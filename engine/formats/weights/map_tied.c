/* Of weights that are one under several names a folder may hold any: programs that leave out what
 * is tied keep the name that comes first to them. The missing name stands for the weight, too. */
#include <string.h>

#include "engine/base/arena.h"
#include "engine/formats/weights/map.h"

/* Whether the name is a weight of its own under these facts. */
static bool is_own(const cse_map *map, cse_arena *arena, const json_t *facts, const char *theirs)
{
    for (int r = 0; r < map->rule_count; r++) {
        const cse_map_rule *rule = &map->rules[r];
        if (rule->parts > 0 && strcmp(rule->theirs, theirs) == 0 &&
            (rule->unless == NULL || !cse_map_is_true(map, arena, facts, rule->unless)) &&
            cse_map_holds(map, arena, facts, rule->where))
            return true;
    }
    return false;
}

static int find(const cse_map *map, const cse_weights *weights, const char *name)
{
    const int found = cse_weights_find(weights, name);
    return found >= 0 || map->prefix == NULL
               ? found
               : cse_weights_find(weights,
                                  cse_arena_printf(weights->arena, "%s%s", map->prefix, name));
}

void cse_map_name_tied(const cse_map *map, const json_t *facts, cse_weights *weights)
{
    for (int r = 0; r < map->rule_count; r++) {
        const cse_map_rule *rule = &map->rules[r];
        if (rule->tied == NULL || find(map, weights, rule->tied) >= 0)
            continue;
        const int there = find(map, weights, rule->theirs);
        if (there >= 0 && !is_own(map, weights->arena, facts, rule->theirs))
            cse_name_index_add(&weights->names, cse_arena_string(weights->arena, rule->tied),
                               there);
    }
}
