/* Which keys another program's description of a model may have. What a fact of the map reads is
 * used; a key that no fact reads changes nothing that the model computes, as the map's list of
 * keys says with the reason, or is refused by its name: a key that nobody knows may change every
 * value. */
#include <stddef.h>
#include <string.h>

#include "engine/formats/weights/map.h"

static bool is_name(const char *pattern, const char *name)
{
    const size_t length = strlen(pattern);
    if (length > 0 && pattern[length - 1] == '*')
        return strncmp(pattern, name, length - 1) == 0;
    return strcmp(pattern, name) == 0;
}

static const char *name_at(const cse_yaml_node *names, int index)
{
    const cse_yaml_node *node = names->kind == CSE_YAML_SEQUENCE ? names->children[index] : names;
    return node->kind == CSE_YAML_SCALAR ? node->text : "";
}

static int name_count(const cse_yaml_node *names)
{
    return names->kind == CSE_YAML_SEQUENCE ? names->count : 1;
}

static const cse_map_key *key_named(const cse_map *map, const char *name)
{
    for (int i = 0; i < map->key_count; i++)
        for (int k = 0; !map->keys[i].either && k < name_count(map->keys[i].names); k++)
            if (is_name(name_at(map->keys[i].names, k), name))
                return &map->keys[i];
    return NULL;
}

static bool is_of_fact(const cse_map *map, const char *name)
{
    bool found = false;
    for (int i = 0; i < map->fact_count && !found; i++)
        for (int k = 0; k < map->facts[i].their_names && !found; k++)
            found = strcmp(map->facts[i].theirs[k], name) == 0;
    return found;
}

/* Whether there are facts or keys within an object. */
static bool has_parts(const cse_map *map, const char *name)
{
    const size_t length = strlen(name);
    bool found = false;
    for (int i = 0; i < map->fact_count && !found; i++)
        for (int k = 0; k < map->facts[i].their_names && !found; k++)
            found = strncmp(map->facts[i].theirs[k], name, length) == 0 &&
                    map->facts[i].theirs[k][length] == '.';
    return found;
}

/* Of a list, all entries. */
static bool is_accepted(cse_arena *arena, const cse_yaml_node *only, const json_t *value)
{
    size_t i;
    const json_t *entry;
    const char *text = cse_map_json_text(arena, value);
    bool all = json_array_size(value) > 0;
    if (text != NULL)
        return cse_map_is_among(only, text);
    json_array_foreach(value, i, entry)
    {
        all = all && is_accepted(arena, only, entry);
    }
    return all;
}

static cse_status check_key(const cse_map *map, cse_arena *arena, const cse_map_key *key,
                            const char *name, const json_t *value)
{
    const char *text = cse_map_json_text(arena, value);
    if (key->only == NULL || is_accepted(arena, key->only, value))
        return CSE_OK;
    return cse_fail(CSE_DATA, "%s of the weights is %.80s: %s (%s); accepted: %s", name,
                    text != NULL           ? text
                    : json_is_array(value) ? "a list"
                                           : "an object",
                    key->because, map->source, cse_map_list_of(arena, key->only));
}

/* "text_config.": the configuration of a part, with the keys of whole ones. */
static bool is_configuration(const char *before)
{
    static const char end[] = "_config.";
    const size_t length = strlen(before), tail = sizeof end - 1;
    return length > tail && strcmp(before + length - tail, end) == 0;
}

/* Whether a key is the map's own; before the others a fact goes. */
static bool is_own(const cse_map *map, const cse_map_key *key)
{
    return key != NULL && key - map->keys < map->own_key_count;
}

static cse_status check_object(const cse_map *map, cse_arena *arena, const char *before,
                               const json_t *facts)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)facts, key, value)
    {
        const char *name = cse_arena_printf(arena, "%s%s", before, key);
        const cse_map_key *known = key_named(map, name);
        if (is_of_fact(map, name) && !is_own(map, known))
            continue; /* whatever the list that all maps of the kind share says */
        if (known == NULL && is_configuration(before))
            known = key_named(map, key);
        if (known != NULL) {
            CSE_TRY(check_key(map, arena, known, name, value));
            continue;
        }
        if (has_parts(map, name) && json_is_null(value))
            continue;
        if (json_is_object(value) && has_parts(map, name)) {
            CSE_TRY(check_object(map, arena, cse_arena_printf(arena, "%s.", name), value));
            continue;
        }
        return cse_fail_at(
            &(cse_error){ .status = CSE_DATA,
                          .hint = "remove it if it changes nothing that the model computes, or "
                                  "list it under keys in a map of your own (--map FILE)" },
            "the weights say %.80s, which the map %s does not know", name, map->source);
    }
    return CSE_OK;
}

static bool is_given(const json_t *facts, const char *name)
{
    const json_t *value = cse_map_their_value(facts, name);
    return value != NULL && !json_is_null(value) &&
           !(json_is_object(value) && json_object_size(value) == 0);
}

static cse_status check_either(const cse_map *map, const cse_map_key *key, const json_t *facts)
{
    const char *given = NULL;
    for (int i = 0; i < name_count(key->names); i++) {
        const char *name = name_at(key->names, i);
        if (!is_given(facts, name))
            continue;
        if (given != NULL)
            return cse_fail(CSE_DATA, "the weights say %s and %s: %s (%s)", given, name,
                            key->because, map->source);
        given = name;
    }
    return CSE_OK;
}

cse_status cse_map_check_keys(const cse_map *map, cse_arena *arena, const json_t *facts)
{
    for (int i = 0; i < map->key_count; i++)
        if (map->keys[i].either)
            CSE_TRY(check_either(map, &map->keys[i], facts));
    return check_object(map, arena, "", facts);
}

static bool is_of_our_fact(const cse_map *map, const char *name)
{
    bool found = false;
    for (int i = 0; i < map->fact_count && !found; i++)
        for (int k = 0; k < map->facts[i].our_names && !found; k++)
            found = strcmp(map->facts[i].ours[k], name) == 0;
    return found;
}

cse_status cse_map_check_ours(const cse_map *map, cse_arena *arena, const cse_yaml_node *settings)
{
    for (int i = 0; map->ours_only != NULL && i < map->ours_only->count; i++) {
        const char *name = map->ours_only->keys[i].text;
        const cse_yaml_node *values = map->ours_only->children[i];
        const cse_yaml_node *given = cse_yaml_find(settings, name);
        if (given == NULL || is_of_our_fact(map, name) ||
            (given->kind == CSE_YAML_SCALAR && cse_map_is_among(values, given->text)))
            continue;
        return cse_fail(CSE_DATA,
                        "%s of the model is %.80s, which the other program does not compute (%s); "
                        "accepted: %s",
                        name, given->kind == CSE_YAML_SCALAR ? given->text : "no single value",
                        map->source, cse_map_list_of(arena, values));
    }
    return CSE_OK;
}

json_t *cse_map_kept(const cse_map *map, const json_t *facts)
{
    const char *name;
    json_t *value, *kept = json_object();
    json_object_foreach((json_t *)(uintptr_t)facts, name, value)
    {
        const cse_map_key *key = key_named(map, name);
        if (key != NULL && key->kept)
            json_object_set(kept, name, value);
    }
    return kept;
}

/* Names of classes are kept where there are as many as the model has. */
static bool fits(const json_t *kept, const json_t *facts, const char *name)
{
    const json_t *here = json_object_get(facts, name);
    if (strcmp(name, "label2id") == 0 && json_object_get(facts, "id2label") != NULL)
        return json_object_size(kept) == json_object_size(json_object_get(facts, "id2label"));
    return here == NULL ||
           (json_is_object(here) && json_object_size(here) == json_object_size(kept));
}

void cse_map_add_kept(const cse_map *map, const json_t *kept, json_t *facts)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)kept, name, value)
    {
        const cse_map_key *key = key_named(map, name);
        /* What the model's settings say goes before, but for the names of as many classes. */
        const bool is_said = json_object_get(facts, name) != NULL && !json_is_object(value);
        if (key != NULL && key->kept && !is_said && fits(value, facts, name))
            json_object_set(facts, name, value);
    }
    for (int i = 0; i < map->key_count; i++)
        for (int k = 0; map->keys[i].otherwise != NULL && k < name_count(map->keys[i].names); k++)
            if (json_object_get(facts, name_at(map->keys[i].names, k)) == NULL)
                json_object_set_new(facts, name_at(map->keys[i].names, k),
                                    cse_map_json_of(map->keys[i].otherwise));
}

/* ---- tokens in GGUF ---- */

static const char *const token_ids[][2] = {
    { "tokenizer.ggml.bos_token_id", "bos_token_id" },
    { "tokenizer.ggml.eos_token_id", "eos_token_id" },
    { "tokenizer.ggml.padding_token_id", "pad_token_id" },
};
enum { TOKEN_IDS = sizeof token_ids / sizeof token_ids[0] };

void cse_map_token_ids(const cse_map *map, const json_t *facts, json_t *config)
{
    for (int i = 0; i < TOKEN_IDS && strcmp(map->kind, "gguf") == 0; i++) {
        json_t *id = json_object_get(facts, token_ids[i][0]);
        if (json_is_integer(id))
            json_object_set(config, token_ids[i][1], id);
    }
}

/* The setting that names the token which fills a text, as a value of JSON; NULL: none does. */
static json_t *our_padding(const cse_yaml_node *settings)
{
    const cse_yaml_node *given = cse_yaml_find(settings, "pad_token_id");
    return given != NULL && given->kind == CSE_YAML_SCALAR ? cse_map_json_of(given) : NULL;
}

/* Where a folder says the token that fills a text by a setting of ours, a file of GGUF that says it
 * of its tokenizer was opened without that setting. */
static void put_padding(const json_t *origin, json_t *facts)
{
    const bool is_folder = json_is_string(json_object_get(origin, "model_type"));
    json_t *id = json_object_get(json_object_get(origin, "config"), "pad_token_id");
    if (!is_folder && json_is_integer(id) && json_is_null(json_object_get(facts, "pad_token_id")))
        json_object_set(facts, "pad_token_id", id);
}

void cse_map_put_token_ids(const cse_map *map, const json_t *origin, const cse_yaml_node *settings,
                           json_t *facts)
{
    if (strcmp(map->kind, "gguf") != 0) {
        put_padding(origin, facts);
        return;
    }
    const json_t *config = json_object_get(origin, "config");
    json_t *padding = our_padding(settings);
    for (int i = 0; i < TOKEN_IDS; i++) {
        json_t *id = json_object_get(config, token_ids[i][1]);
        id = json_is_array(id) ? json_array_get(id, 0) : id; /* of several that end a text */
        if (strcmp(token_ids[i][1], "pad_token_id") == 0 && json_is_integer(padding))
            id = padding;
        if (json_is_integer(id) && json_integer_value(id) >= 0)
            json_object_set(facts, token_ids[i][0], id);
    }
    json_decref(padding);
}
