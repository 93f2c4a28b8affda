/* Reading and choosing maps. A map is checked as strictly as a configuration, since people write
 * their own: each key is known, each value has its kind. */
#include "engine/formats/weights/map.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static cse_status refuse(const cse_yaml_node *node, const char *what, const char *accepted)
{
    return cse_fail_at(&(cse_error){ .status = CSE_CONFIG,
                                     .context = "map of weights: ",
                                     .place = node->place,
                                     .accepted = accepted },
                       "%s", what);
}

static cse_status check_keys(cse_arena *arena, const cse_yaml_node *node, const char *accepted)
{
    if (node->kind != CSE_YAML_MAPPING)
        return refuse(node, "here must be a mapping", accepted);
    for (int i = 0; i < node->count; i++) {
        const char *key = node->keys[i].text, *found = strstr(accepted, key);
        const size_t length = strlen(key);
        bool known = false;
        for (; found != NULL && !known; found = strstr(found + 1, key))
            known = found[-1] == ' ' && (found[length] == ',' || found[length] == '\0');
        if (!known)
            return refuse(node->children[i], cse_arena_printf(arena, "there is no key \"%s\"", key),
                          accepted);
    }
    return CSE_OK;
}

/* A scalar of a mapping, NULL where there is none. */
static cse_status read_text(const cse_yaml_node *node, const char *key, const char **text)
{
    const cse_yaml_node *value = cse_yaml_find(node, key);
    *text = NULL;
    if (value == NULL)
        return CSE_OK;
    if (value->kind != CSE_YAML_SCALAR || *value->text == '\0')
        return refuse(value, "here must be a text", NULL);
    *text = value->text;
    return CSE_OK;
}

static cse_status read_switch(const cse_yaml_node *node, const char *key, bool *is_on)
{
    const char *text = NULL;
    CSE_TRY(read_text(node, key, &text));
    *is_on = text != NULL && strcmp(text, "true") == 0;
    return text == NULL || *is_on || strcmp(text, "false") == 0
               ? CSE_OK
               : refuse(cse_yaml_find(node, key), "here must be true or false", NULL);
}

/* A text, or a list of at most `most`. */
static cse_status read_names(const cse_yaml_node *node, int most, const char **names, int *count)
{
    *count = 0;
    if (node == NULL)
        return CSE_OK;
    if (node->kind == CSE_YAML_SCALAR) {
        names[(*count)++] = node->text;
        return CSE_OK;
    }
    if (node->kind != CSE_YAML_SEQUENCE || node->count == 0 || node->count > most)
        return refuse(node, "here must be a name, or a list of 1 to 4", NULL);
    for (int i = 0; i < node->count; i++) {
        if (node->children[i]->kind != CSE_YAML_SCALAR)
            return refuse(node->children[i], "here must be a name", NULL);
        names[(*count)++] = node->children[i]->text;
    }
    return CSE_OK;
}

static bool maps_texts(const cse_yaml_node *node)
{
    bool good = node->kind == CSE_YAML_MAPPING;
    for (int i = 0; good && i < node->count; i++)
        good = node->children[i]->kind == CSE_YAML_SCALAR;
    return good;
}

static bool is_form(const char *name)
{
    static const char *const forms[] = { "square",         "count",          "list",
                                         "numbers",        "period",         "every_other",
                                         "given",          "layers",         "factors",
                                         "missing_weight", "inverse_root",   "but_every",
                                         "elements",       "yarn_attention", "longrope_attention" };
    bool found = false;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        found = found || strcmp(name, forms[i]) == 0;
    return found;
}

static cse_status read_fact(cse_arena *arena, const cse_yaml_node *node, cse_map_fact *fact)
{
    CSE_TRY(
        check_keys(arena, node,
                   "accepted: theirs, ours, our_default, their_default, fixed, written, "
                   "values, form, null_is, none_is, where, except, same_as, fraction_of, times, "
                   "missing, needs, unwritten, omitted, implied, told, least"));
    CSE_TRY(
        read_names(cse_yaml_find(node, "theirs"), CSE_MAP_NAMES, fact->theirs, &fact->their_names));
    CSE_TRY(read_text(node, "form", &fact->form));
    CSE_TRY(read_text(node, "same_as", &fact->same_as));
    CSE_TRY(read_text(node, "fraction_of", &fact->fraction_of));
    CSE_TRY(read_text(node, "times", &fact->times));
    CSE_TRY(read_text(node, "needs", &fact->needs));
    CSE_TRY(read_text(node, "none_is", &fact->none_is));
    CSE_TRY(read_text(node, "told", &fact->told));
    CSE_TRY(read_switch(node, "unwritten", &fact->unwritten));
    CSE_TRY(read_switch(node, "omitted", &fact->omitted));
    fact->missing = cse_yaml_find(node, "missing");
    CSE_TRY(read_names(cse_yaml_find(node, "ours"), CSE_MAP_NAMES, fact->ours, &fact->our_names));
    fact->our_default = cse_yaml_find(node, "our_default");
    fact->their_default = cse_yaml_find(node, "their_default");
    fact->fixed = cse_yaml_find(node, "fixed");
    fact->written = cse_yaml_find(node, "written");
    fact->values = cse_yaml_find(node, "values");
    fact->null_is = cse_yaml_find(node, "null_is");
    fact->where = cse_yaml_find(node, "where");
    fact->except = cse_yaml_find(node, "except");
    fact->implied = cse_yaml_find(node, "implied");
    fact->least = cse_yaml_find(node, "least");
    if (fact->their_names == 0 && fact->our_names == 0)
        return refuse(node, "a fact needs theirs or ours", NULL);
    if ((fact->their_names == 0 || fact->our_names == 0) && fact->fixed == NULL &&
        fact->written == NULL)
        return refuse(node, "a fact of one side needs the value that is fixed or written", NULL);
    if (fact->least != NULL && fact->least->kind != CSE_YAML_SCALAR)
        return refuse(fact->least, "here must be a number", NULL);
    if (fact->values != NULL && fact->values->kind != CSE_YAML_MAPPING)
        return refuse(fact->values, "here must be a mapping of their values to ours", NULL);
    if (fact->where != NULL && fact->where->kind != CSE_YAML_MAPPING)
        return refuse(fact->where, "here must be a mapping of facts of theirs to values", NULL);
    if (fact->implied != NULL && !maps_texts(fact->implied))
        return refuse(fact->implied, "here must be a mapping of weights of theirs to values", NULL);
    if (fact->except != NULL && fact->except->kind != CSE_YAML_MAPPING)
        return refuse(fact->except, "here must be a mapping of facts of theirs to values", NULL);
    if (fact->missing != NULL &&
        (fact->missing->kind != CSE_YAML_MAPPING || fact->missing->count != 1))
        return refuse(fact->missing, "here must be one of from, but_every and not", NULL);
    if (fact->form != NULL && !is_form(fact->form))
        return refuse(node, "form is not known",
                      "accepted: square, count, list, numbers, period, every_other, given, "
                      "inverse_root, layers, but_every, factors, elements, missing_weight, "
                      "yarn_attention, longrope_attention");
    return CSE_OK;
}

static int stars_of(const char *name)
{
    int count = 0;
    for (; *name != '\0'; name++)
        count += *name == '*';
    return count;
}

/* Of matrices one behind the other. */
static cse_status check_stack(const cse_yaml_node *node, const cse_map_rule *rule)
{
    const bool changes = rule->transpose || rule->rotary != NULL || rule->squeeze > 0 ||
                         rule->unsqueeze > 0 || rule->roll || rule->parts == 0;
    if ((rule->stack != NULL || rule->within) && changes)
        return refuse(node, "stack and within need ours, and go with no change of its elements",
                      NULL);
    if (rule->stack != NULL && rule->parts != 1)
        return refuse(node, "stack needs one name of ours", NULL);
    return rule->within && rule->parts < 2 ? refuse(node, "within needs ours as a list", NULL)
                                           : CSE_OK;
}

/* A star for the layer on both sides, or none; and one of a stack. */
static cse_status check_stars(const cse_yaml_node *node, const cse_map_rule *rule)
{
    const int stars = rule->theirs != NULL ? stars_of(rule->theirs) : 0;
    const int most = rule->stack != NULL ? 2 : 1;
    if (rule->theirs == NULL || stars > most)
        return refuse(node, "a rule needs theirs, with at most one *, of a stack with two", NULL);
    if (rule->stack != NULL && stars != most)
        return refuse(node, "theirs needs a second *, for the number within the stack", NULL);
    for (int i = 0; i < rule->parts; i++)
        if (stars_of(rule->ours[i]) > 1 || (stars_of(rule->ours[i]) > 0) != (stars > 0))
            return refuse(node, "theirs and ours must have one * each, or none", NULL);
    return CSE_OK;
}

static cse_status read_fused(cse_arena *arena, const cse_yaml_node *node, cse_map_rule *rule)
{
    const char *layout = NULL;
    if (node == NULL)
        return CSE_OK;
    CSE_TRY(check_keys(arena, node, "accepted: layout, heads, key_heads"));
    CSE_TRY(read_text(node, "layout", &layout));
    CSE_TRY(read_text(node, "heads", &rule->heads));
    CSE_TRY(read_text(node, "key_heads", &rule->key_heads));
    rule->is_fused = true;
    if (layout == NULL || rule->heads == NULL || rule->parts != CSE_FUSED_PARTS)
        return refuse(node, "fused needs layout, heads, and three names of ours", NULL);
    const bool of_heads = strcmp(layout, "heads") == 0;
    const bool of_quarters = strcmp(layout, "quarters") == 0;
    if (strcmp(layout, "blocks") != 0 && strcmp(layout, "groups") != 0 && !of_heads && !of_quarters)
        return refuse(node, "layout is not known", "accepted: blocks, heads, groups, quarters");
    rule->fused = strcmp(layout, "blocks") == 0 ? CSE_FUSED_BLOCKS
                  : of_quarters                 ? CSE_FUSED_QUARTERS
                                                : CSE_FUSED_GROUPS;
    if ((of_heads || of_quarters) && rule->key_heads != NULL)
        return refuse(node, "this layout has as many heads of keys as of queries", NULL);
    rule->key_heads = rule->key_heads != NULL ? rule->key_heads : rule->heads;
    return CSE_OK;
}

/* A number that is added goes with rows in another order, and with no other change. */
static cse_status read_plus(const cse_yaml_node *node, cse_map_rule *rule)
{
    const char *text = NULL;
    char *end = NULL;
    CSE_TRY(read_text(node, "plus", &text));
    if (text == NULL)
        return CSE_OK;
    rule->plus = strtod(text, &end);
    if (*end != '\0' || rule->plus == 0)
        return refuse(node, "plus must be a number that is not 0", NULL);
    return rule->parts != 1 || rule->transpose || rule->stack != NULL || rule->within
               ? refuse(node, "plus needs one name of ours, and no change but rotary and roll",
                        NULL)
               : CSE_OK;
}

static cse_status read_squeeze(const cse_yaml_node *node, const char *key, int *dimensions)
{
    const char *text = NULL;
    CSE_TRY(read_text(node, key, &text));
    *dimensions = text != NULL ? atoi(text) : 0;
    return *dimensions < 0 || *dimensions >= CSE_MAX_RANK
               ? refuse(node, "squeeze and unsqueeze must be a number of dimensions", NULL)
               : CSE_OK;
}

static cse_status read_rule(cse_arena *arena, const cse_yaml_node *node, cse_map_rule *rule)
{
    CSE_TRY(check_keys(
        arena, node,
        "accepted: theirs, ours, stack, within, also, transpose, fused, rotary, "
        "squeeze, unsqueeze, plus, roll, optional, unless, where, layers, drop, counter, "
        "frequencies, tied, no_prefix"));
    CSE_TRY(read_text(node, "theirs", &rule->theirs));
    CSE_TRY(read_text(node, "stack", &rule->stack));
    CSE_TRY(read_switch(node, "within", &rule->within));
    CSE_TRY(read_switch(node, "also", &rule->also));
    CSE_TRY(read_names(cse_yaml_find(node, "ours"), CSE_MAP_PARTS, rule->ours, &rule->parts));
    CSE_TRY(read_switch(node, "transpose", &rule->transpose));
    CSE_TRY(read_fused(arena, cse_yaml_find(node, "fused"), rule));
    CSE_TRY(read_text(node, "rotary", &rule->rotary));
    CSE_TRY(read_squeeze(node, "squeeze", &rule->squeeze));
    CSE_TRY(read_squeeze(node, "unsqueeze", &rule->unsqueeze));
    CSE_TRY(read_switch(node, "roll", &rule->roll));
    CSE_TRY(read_switch(node, "optional", &rule->optional));
    CSE_TRY(read_text(node, "unless", &rule->unless));
    CSE_TRY(read_text(node, "layers", &rule->layers));
    CSE_TRY(read_switch(node, "drop", &rule->drop));
    CSE_TRY(read_text(node, "counter", &rule->counter));
    rule->where = cse_yaml_find(node, "where");
    CSE_TRY(read_text(node, "tied", &rule->tied));
    CSE_TRY(read_text(node, "frequencies", &rule->frequencies));
    CSE_TRY(read_switch(node, "no_prefix", &rule->no_prefix));
    rule->where = cse_yaml_find(node, "where");
    if (rule->where != NULL && rule->where->kind != CSE_YAML_MAPPING)
        return refuse(rule->where, "here must be a mapping of facts of theirs to values", NULL);
    CSE_TRY(read_plus(node, rule));
    if (rule->counter != NULL && !rule->drop)
        return refuse(node, "counter belongs to drop: true", NULL);
    if ((rule->parts > 0) == (rule->drop || rule->tied != NULL))
        return refuse(node, "a rule needs ours, or drop: true, or tied", NULL);
    CSE_TRY(check_stack(node, rule));
    return check_stars(node, rule);
}

static cse_status read_key(cse_arena *arena, const cse_yaml_node *node, cse_map_key *key)
{
    CSE_TRY(check_keys(arena, node, "accepted: keys, only, because, kept, otherwise, either"));
    key->names = cse_yaml_find(node, "keys");
    key->only = cse_yaml_find(node, "only");
    key->otherwise = cse_yaml_find(node, "otherwise");
    CSE_TRY(read_text(node, "because", &key->because));
    CSE_TRY(read_switch(node, "kept", &key->kept));
    CSE_TRY(read_switch(node, "either", &key->either));
    if (key->names == NULL || key->names->kind == CSE_YAML_MAPPING || key->because == NULL)
        return refuse(node, "an entry of keys needs keys, a name or a list of names, and because",
                      NULL);
    return CSE_OK;
}

/* Adds the entries of a list of keys; NULL: there are none. */
static cse_status add_keys(cse_arena *arena, const cse_yaml_node *list, cse_map *map)
{
    if (list == NULL)
        return CSE_OK;
    if (list->kind != CSE_YAML_SEQUENCE)
        return refuse(list, "keys must be a list", NULL);
    cse_map_key *keys =
        cse_arena_alloc(arena, (size_t)(map->key_count + list->count) * sizeof *keys);
    for (int i = 0; i < map->key_count; i++)
        keys[i] = map->keys[i];
    for (int i = 0; i < list->count; i++)
        CSE_TRY(read_key(arena, list->children[i], &keys[map->key_count + i]));
    map->keys = keys;
    map->key_count += list->count;
    return CSE_OK;
}

/* Adds those of another map. */
static cse_status copy_keys(cse_arena *arena, const cse_map *other, cse_map *map)
{
    cse_map_key *keys = cse_arena_alloc(
        arena, (size_t)(map->key_count + other->before_shared_keys + 1) * sizeof *keys);
    for (int i = 0; i < map->key_count; i++)
        keys[i] = map->keys[i];
    for (int i = 0; i < other->before_shared_keys; i++)
        keys[map->key_count + i] = other->keys[i];
    map->keys = keys;
    map->key_count += other->before_shared_keys;
    return CSE_OK;
}

/* Those that all maps of a kind share; they come last, so that a map's own go before. */
static cse_status add_shared_keys(cse_arena *arena, cse_map *map)
{
    for (const cse_map_text *row = cse_map_key_texts; row->name != NULL; row++) {
        cse_yaml_node *root = NULL;
        if (strcmp(row->name, map->kind) != 0)
            continue;
        const char *source = cse_arena_printf(arena, "maps/keys/%s.yaml", row->name);
        CSE_TRY(cse_yaml_parse(arena, source, row->text, strlen(row->text), &root));
        CSE_TRY(add_keys(arena, cse_yaml_find(root, "keys"), map));
        map->ours_only = cse_yaml_find(root, "ours_only");
    }
    return CSE_OK;
}

static bool is_same(const char *one, const char *other)
{
    return one == NULL || other == NULL ? one == other : strcmp(one, other) == 0;
}

/* Whether a fact stands for another one: of the same name on either side. */
static bool replaces(const cse_map_fact *own, const cse_map_fact *fact)
{
    return (fact->their_names > 0 && own->their_names > 0 &&
            is_same(own->theirs[0], fact->theirs[0])) ||
           (fact->our_names > 0 && own->our_names > 0 && is_same(own->ours[0], fact->ours[0]));
}

static bool is_without(const cse_map *map, const cse_map_fact *fact)
{
    return map->without != NULL &&
           cse_map_is_among(map->without, fact->their_names > 0 ? fact->theirs[0] : fact->ours[0]);
}

/* Facts of another map; those of this one take the places of what they replace, since facts refer
 * to others before them, and the rest comes last. */
static void merge_facts(cse_map *map, const cse_map *own, const cse_map *other)
{
    bool *placed = cse_calloc((size_t)own->fact_count + 1, sizeof *placed);
    map->fact_count = 0;
    for (int i = 0; i < other->fact_count; i++) {
        bool replaced = false;
        for (int k = 0; k < own->fact_count; k++) {
            const bool here = replaces(&own->facts[k], &other->facts[i]);
            if (here && !placed[k])
                map->facts[map->fact_count++] = own->facts[k];
            placed[k] = placed[k] || here;
            replaced = replaced || here;
        }
        if (!replaced && !is_without(own, &other->facts[i]))
            map->facts[map->fact_count++] = other->facts[i];
    }
    for (int k = 0; k < own->fact_count; k++)
        if (!placed[k])
            map->facts[map->fact_count++] = own->facts[k];
    free(placed);
}

/* Whether the map has a rule for the same weight, of theirs or of ours. */
static bool has_rule(const cse_map *map, const cse_map_rule *rule)
{
    bool found = false;
    for (int i = 0; i < map->rule_count && !found; i++) {
        const cse_map_rule *own = &map->rules[i];
        found = strcmp(own->theirs, rule->theirs) == 0;
        for (int p = 0; p < own->parts && rule->parts > 0 && !found; p++)
            found = strcmp(own->ours[p], rule->ours[0]) == 0;
    }
    return found;
}

/* The text of a map in which names that begin so begin otherwise. */
static const char *renamed(cse_arena *arena, const char *text, const char *old, const char *new)
{
    cse_text out = { 0 };
    const size_t length = strlen(old);
    for (const char *at = text; *at != '\0';) {
        const bool begins = at == text || strchr(" [({=/*,:", at[-1]) != NULL;
        const bool here = begins && strncmp(at, old, length) == 0;
        cse_text_add_bytes(&out, here ? new : at, here ? strlen(new) : 1);
        at += here ? length : 1;
    }
    const char *result = cse_arena_string(arena, out.data);
    cse_text_clear(&out);
    return result;
}

/* The map that this one is like, whose names of facts begin as this one's do. */
static cse_status load_renamed(cse_arena *arena, const cse_map *map, const char *name,
                               cse_map **other)
{
    const cse_yaml_node *renames = cse_yaml_find(map->root, "renames");
    const char *text = NULL;
    for (const cse_map_text *row = cse_map_texts; row->name != NULL; row++)
        text = strcmp(row->name, name) == 0 ? row->text : text;
    if (renames == NULL || text == NULL)
        return cse_map_load(arena, name, other);
    if (!maps_texts(renames))
        return refuse(renames, "renames is a mapping of the beginnings of names", NULL);
    for (int i = 0; i < renames->count; i++)
        text = renamed(arena, text, renames->keys[i].text, renames->children[i]->text);
    return cse_map_parse(arena, cse_arena_printf(arena, "maps/%s.yaml", name), text, other);
}

static bool is_brought(const char *name)
{
    bool found = false;
    for (const cse_map_text *row = cse_map_texts; row->name != NULL && !found; row++)
        found = strcmp(row->name, name) == 0;
    return found;
}

/* Adds what another map has, but for the facts and rules of the same names. */
static cse_status add_other(cse_arena *arena, cse_map *map, const char *name)
{
    cse_map *other = NULL;
    if (name == NULL)
        return CSE_OK;
    if (!is_brought(name))
        return refuse(cse_yaml_find(map->root, "like"), "here must be a map of csengine", NULL);
    CSE_TRY(load_renamed(arena, map, name, &other));
    const cse_map own = *map;
    map->prefix = own.prefix != NULL ? own.prefix : other->prefix;
    map->bare = own.bare != NULL ? own.bare : other->bare;
    map->older_ends = own.older_ends != NULL ? own.older_ends : other->older_ends;
    map->layers = own.layers != NULL ? own.layers : other->layers;
    map->rope_factors = own.rope_factors != NULL ? own.rope_factors : other->rope_factors;
    map->head_size = own.head_size != NULL ? own.head_size : other->head_size;
    map->rotary_size = own.rotary_size != NULL ? own.rotary_size : other->rotary_size;
    map->facts = cse_arena_alloc(arena, (size_t)(own.fact_count + other->fact_count + 1) *
                                            sizeof *map->facts);
    map->rules = cse_arena_alloc(arena, (size_t)(own.rule_count + other->rule_count + 1) *
                                            sizeof *map->rules);
    map->rule_count = 0;
    merge_facts(map, &own, other);
    for (int i = 0; i < own.rule_count; i++)
        map->rules[map->rule_count++] = own.rules[i];
    for (int i = 0; i < other->rule_count; i++)
        if (!has_rule(&own, &other->rules[i]) &&
            (own.without == NULL || !cse_map_is_among(own.without, other->rules[i].theirs)))
            map->rules[map->rule_count++] = other->rules[i];
    return copy_keys(arena, other, map);
}

static cse_status read_lists(cse_arena *arena, cse_map *map, const char *like)
{
    const cse_yaml_node *facts = cse_yaml_find(map->root, "facts");
    const cse_yaml_node *rules = cse_yaml_find(map->root, "weights");
    const int rule_count = rules != NULL ? rules->count : 0;
    if (facts == NULL || facts->kind != CSE_YAML_SEQUENCE || (rules == NULL && like == NULL) ||
        (rules != NULL && rules->kind != CSE_YAML_SEQUENCE))
        return refuse(map->root, "a map needs the lists facts and weights", NULL);
    map->facts = cse_arena_alloc(arena, ((size_t)facts->count + 1) * sizeof *map->facts);
    map->rules = cse_arena_alloc(arena, ((size_t)rule_count + 1) * sizeof *map->rules);
    for (; map->fact_count < facts->count; map->fact_count++)
        CSE_TRY(read_fact(arena, facts->children[map->fact_count], &map->facts[map->fact_count]));
    for (; map->rule_count < rule_count; map->rule_count++)
        CSE_TRY(read_rule(arena, rules->children[map->rule_count], &map->rules[map->rule_count]));
    CSE_TRY(add_keys(arena, cse_yaml_find(map->root, "keys"), map));
    map->own_key_count = map->key_count;
    CSE_TRY(add_other(arena, map, like));
    map->before_shared_keys = map->key_count;
    return add_shared_keys(arena, map);
}

static cse_status read_map(cse_arena *arena, const char *source, cse_yaml_node *root, cse_map **map)
{
    const char *like = NULL;
    cse_map *m = *map = cse_arena_alloc(arena, sizeof *m);
    m->source = source;
    m->root = root;
    CSE_TRY(check_keys(
        arena, root,
        "accepted: model, kind, like, renames, without, selects, follows, begins, prefix, bare, "
        "older_ends, leaves_out, layers, head_size, rotary_size, rope_factors, facts, weights, "
        "keys"));
    CSE_TRY(read_text(root, "model", &m->model));
    CSE_TRY(read_text(root, "kind", &m->kind));
    CSE_TRY(read_text(root, "like", &like));
    CSE_TRY(read_text(root, "prefix", &m->prefix));
    CSE_TRY(read_text(root, "layers", &m->layers));
    CSE_TRY(read_text(root, "head_size", &m->head_size));
    CSE_TRY(read_text(root, "rotary_size", &m->rotary_size));
    m->selects = cse_yaml_find(root, "selects");
    m->begins = cse_yaml_find(root, "begins");
    m->follows = cse_yaml_find(root, "follows");
    m->bare = cse_yaml_find(root, "bare");
    m->older_ends = cse_yaml_find(root, "older_ends");
    m->rope_factors = cse_yaml_find(root, "rope_factors");
    m->without = cse_yaml_find(root, "without");
    m->leaves_out = cse_yaml_find(root, "leaves_out");
    if (m->rope_factors != NULL && !maps_texts(m->rope_factors))
        return refuse(m->rope_factors, "rope_factors is a mapping of names", NULL);
    if (m->model == NULL || m->kind == NULL || m->selects == NULL ||
        (m->layers == NULL && like == NULL) || m->selects->kind != CSE_YAML_MAPPING ||
        (m->begins != NULL && m->begins->kind != CSE_YAML_MAPPING) ||
        (m->bare != NULL && m->bare->kind != CSE_YAML_MAPPING))
        return refuse(root,
                      "a map needs model, kind, layers and the mapping selects; begins and bare "
                      "are mappings, too",
                      NULL);
    if (m->follows != NULL && m->follows->kind != CSE_YAML_MAPPING)
        return refuse(m->follows, "follows is a mapping of facts to values", NULL);
    if (m->older_ends != NULL && !maps_texts(m->older_ends))
        return refuse(m->older_ends, "older_ends maps the end of a name to an older one", NULL);
    return read_lists(arena, m, like);
}

cse_status cse_map_parse(cse_arena *arena, const char *source, const char *text, cse_map **map)
{
    cse_yaml_node *root = NULL;
    CSE_TRY(cse_yaml_parse(arena, source, text, strlen(text), &root));
    return read_map(arena, cse_arena_string(arena, source), root, map);
}

cse_status cse_map_load(cse_arena *arena, const char *name, cse_map **map)
{
    cse_yaml_node *root = NULL;
    for (const cse_map_text *row = cse_map_texts; row->name != NULL; row++)
        if (strcmp(row->name, name) == 0)
            return cse_map_parse(arena, cse_arena_printf(arena, "maps/%s.yaml", name), row->text,
                                 map);
    CSE_TRY(cse_yaml_parse_file(arena, name, &root));
    return read_map(arena, cse_arena_string(arena, name), root, map);
}

/* ---- choosing ---- */

static bool is_one_of(const cse_yaml_node *value, const char *text)
{
    if (value->kind == CSE_YAML_SCALAR)
        return strcmp(text, value->text) == 0;
    for (int i = 0; i < value->count; i++)
        if (value->children[i]->kind == CSE_YAML_SCALAR &&
            strcmp(text, value->children[i]->text) == 0)
            return true;
    return false;
}

/* Whether a fact, or an entry of a list, is the text that a node holds, or one of its texts. */
static bool is_fact(const json_t *facts, const char *key, const cse_yaml_node *value)
{
    size_t i;
    const json_t *fact = json_object_get(facts, key), *entry;
    if (value->kind == CSE_YAML_MAPPING) /* {above: NUMBER} */
        return json_is_integer(fact) &&
               json_integer_value(fact) > strtoll(value->children[0]->text, NULL, 10);
    if (json_is_boolean(fact))
        return is_one_of(value, json_is_true(fact) ? "true" : "false");
    if (json_is_string(fact))
        return is_one_of(value, json_string_value(fact));
    json_array_foreach(fact, i, entry)
    {
        if (json_is_string(entry) && is_one_of(value, json_string_value(entry)))
            return true;
    }
    return false;
}

static bool selects(const cse_yaml_node *by, const json_t *facts)
{
    bool all = true;
    for (int i = 0; i < by->count && all; i++)
        all = is_fact(facts, by->keys[i].text, by->children[i]);
    return all;
}

typedef struct choice {
    const char *kind;
    const json_t *facts;           /* or NULL */
    const char *model;             /* with facts: that the weights are to begin; or NULL */
    const json_t *origin;          /* without facts: what they came from; or NULL */
    const cse_yaml_node *settings; /* without facts: the model's; or NULL */
} choice;

/* Whether a map has the name of the model, as the first of several for one model has. */
static bool is_named(const char *name, const char *model)
{
    static const char gguf[] = "gguf_";
    const size_t length = sizeof gguf - 1;
    return strcmp(strncmp(name, gguf, length) == 0 ? name + length : name, model) == 0;
}

/* Whether a model with these settings is one of theirs. */
static bool holds(cse_arena *arena, const cse_map *map, const cse_yaml_node *settings)
{
    json_t *facts = NULL;
    if (settings == NULL || cse_map_facts(map, arena, settings, &facts) != CSE_OK)
        return false;
    json_decref(facts);
    return true;
}

/* By how many facts a map is chosen, one for the model before all others; 0: it is not. Without
 * facts one that has the model's name goes before others. */
static int fits(cse_arena *arena, const cse_map *map, const char *name, const choice *c)
{
    enum { FOLLOWS = 2, HOLDS = 4 };
    const bool of_model = c->model != NULL && strcmp(map->model, c->model) == 0;
    if (strcmp(map->kind, c->kind) != 0)
        return 0;
    if (c->facts == NULL && of_model) {
        const bool good = holds(arena, map, c->settings);
        const bool follows = map->follows != NULL && selects(map->follows, c->origin);
        return 1 + is_named(name, map->model) + FOLLOWS * follows + HOLDS * good +
               2 * HOLDS * (good && follows) +
               4 * HOLDS * map->selects->count * selects(map->selects, c->origin);
    }
    if (c->facts == NULL)
        return 0;
    if (of_model && (selects(map->selects, c->facts) ||
                     (map->begins != NULL && selects(map->begins, c->facts))))
        return INT_MAX / 2 + map->selects->count * selects(map->selects, c->facts);
    return selects(map->selects, c->facts) ? 1 + map->selects->count : 0;
}

/* Whether a map may be the choice, by the keys before its lists, which take most of the time to
 * read; true where they do not say. */
static bool may_fit(cse_arena *arena, const cse_map_text *row, const choice *c)
{
    static const char lists[] = "\nfacts:";
    static const char *const keys[] = { "\nmodel:", "\nkind:", "\nselects:", "\nbegins:" };
    const char *end = strstr(row->text, lists);
    cse_yaml_node *root = NULL;
    cse_map head = { .source = row->name };
    for (size_t i = 0; end != NULL && i < sizeof keys / sizeof keys[0]; i++)
        if (strstr(end + 1, keys[i]) != NULL)
            return true;
    if (end == NULL ||
        cse_yaml_parse(arena, row->name, row->text, (size_t)(end + 1 - row->text), &root) !=
            CSE_OK ||
        read_text(root, "model", &head.model) != CSE_OK || head.model == NULL ||
        read_text(root, "kind", &head.kind) != CSE_OK || head.kind == NULL)
        return true;
    head.selects = cse_yaml_find(root, "selects");
    head.begins = cse_yaml_find(root, "begins");
    if (c->facts == NULL)
        return strcmp(head.kind, c->kind) == 0 && c->model != NULL &&
               strcmp(head.model, c->model) == 0;
    return head.selects == NULL || fits(arena, &head, row->name, c) > 0;
}

/* *map: NULL where none fits. */
static cse_status choose(cse_arena *arena, const choice *c, cse_map **map)
{
    int best = 0;
    *map = NULL;
    for (const cse_map_text *row = cse_map_texts; row->name != NULL; row++) {
        cse_map *one = NULL;
        if (!may_fit(arena, row, c))
            continue;
        CSE_TRY(cse_map_load(arena, row->name, &one));
        const int fit = fits(arena, one, row->name, c);
        if (fit > best) {
            best = fit;
            *map = one;
        }
    }
    return CSE_OK;
}

static const char *names_of(cse_arena *arena)
{
    const char *names = NULL;
    for (const cse_map_text *row = cse_map_texts; row->name != NULL; row++)
        names = names == NULL ? row->name : cse_arena_printf(arena, "%s, %s", names, row->name);
    return names;
}

/* The families that the maps of a kind are for, by their fact that names it. */
static const char *families_of(cse_arena *arena, const char *kind, const char *fact)
{
    cse_text text = { 0 };
    for (const cse_map_text *row = cse_map_texts; row->name != NULL; row++) {
        cse_map *map = NULL;
        const bool good = cse_map_load(arena, row->name, &map) == CSE_OK;
        const cse_yaml_node *name =
            good && strcmp(map->kind, kind) == 0 ? cse_yaml_find(map->selects, fact) : NULL;
        const char *one = name != NULL ? cse_map_first_of(name) : "";
        const char *known = text.size > 0 && *one != '\0' ? strstr(text.data, one) : NULL;
        const size_t length = strlen(one);
        while (known != NULL && ((known > text.data && known[-1] != ' ') ||
                                 (known[length] != ',' && known[length] != '\0')))
            known = strstr(known + 1, one);
        if (*one != '\0' && known == NULL)
            cse_text_add(&text, "%s%s", text.size > 0 ? ", " : "", one);
    }
    const char *families = cse_arena_string(arena, text.data != NULL ? text.data : "");
    cse_text_clear(&text);
    return families;
}

cse_status cse_map_for_theirs(cse_arena *arena, const char *kind, const json_t *facts,
                              const char *model, cse_map **map)
{
    const char *what = strcmp(kind, "gguf") == 0 ? "general.architecture" : "model_type";
    const char *value = json_string_value(json_object_get(facts, what));
    CSE_TRY(choose(arena, &(choice){ .kind = kind, .facts = facts, .model = model }, map));
    if (*map != NULL)
        return CSE_OK;
    return cse_fail_at(
        &(cse_error){ .status = CSE_DATA, .hint = "--map FILE gives one of your own" },
        "there is no map for the %s \"%.80s\"; there are those for %s", what,
        value != NULL ? value : "", families_of(arena, kind, what));
}

cse_status cse_map_for_model(cse_arena *arena, const cse_map_wanted *wanted, cse_map **map)
{
    const char *kind = wanted->kind, *model = wanted->model;
    CSE_TRY(choose(
        arena,
        &(choice){
            .kind = kind, .model = model, .settings = wanted->settings, .origin = wanted->origin },
        map));
    if (*map != NULL)
        return CSE_OK;
    return cse_fail_at(
        &(cse_error){ .status = CSE_DATA, .hint = "--map FILE gives one of your own" },
        "there is no map of the kind %s for the model \"%.80s\"; there are %s", wanted->kind,
        wanted->model, names_of(arena));
}
