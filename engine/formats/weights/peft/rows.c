/* A map of those rules alone that the factors need, with rows as the only axis. */
#include "engine/formats/weights/peft/rows.h"

static bool is_of_rule(const cse_map *map, const cse_map_rule *rule, const char *name, bool ours)
{
    bool found = false;
    for (int p = 0; p < rule->parts && ours && !found; p++)
        found = cse_map_is_name(rule->ours[p], name);
    return ours ? found : cse_map_rule_of(map, name) == rule;
}

static cse_status rules_for(const cse_map *map, const cse_weights *factors, bool ours, cse_map *own)
{
    *own = cse_map_of_some(factors->arena, map);
    own->rule_count = 0;
    for (int r = 0; r < map->rule_count; r++) {
        cse_map_rule rule = own->rules[r];
        bool needed = false;
        for (int i = 0; i < factors->count && !needed; i++)
            needed = is_of_rule(map, &map->rules[r], factors->list[i].name, ours);
        if (!needed)
            continue;
        if (rule.stack != NULL || rule.within || rule.roll || rule.squeeze > 0)
            return cse_fail(CSE_DATA,
                            "%s: the adapter has factors beside %s, which is no matrix of its own "
                            "in %s (%s)",
                            factors->path, rule.ours[0], rule.theirs, map->source);
        rule.transpose = false;
        own->rules[own->rule_count++] = rule;
    }
    return CSE_OK;
}

cse_status cse_peft_rows_to_theirs(const cse_map *map, const json_t *facts, cse_weights **from,
                                   cse_weights **to)
{
    cse_map own;
    CSE_TRY(rules_for(map, *from, true, &own));
    return cse_map_to_theirs(&own, facts, from, to);
}

cse_status cse_peft_rows_to_ours(const cse_map *map, const json_t *facts, cse_weights **from,
                                 cse_weights **to)
{
    cse_map own;
    CSE_TRY(rules_for(map, *from, false, &own));
    return cse_map_to_ours(&own, facts, from, to);
}
