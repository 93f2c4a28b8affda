/* Where each value of a configuration came from, as one JSON object: path of the setting -> place
 * ("file:line:column", "--num_csx", "default"). */
#include <stdlib.h>
#include <string.h>

#include "engine/base/json.h"
#include "engine/config/settings.h"

static void add_origin(cse_text *out, const char *path, const char *origin)
{
    cse_text_add(out, out->data[out->size - 1] == '{' ? "" : ",");
    cse_json_add_string(out, path);
    cse_text_add(out, ":");
    cse_json_add_string(out, origin);
}

/* The values of a section that is kept as YAML; places were restored when it was parsed. */
static void add_node(cse_arena *arena, const cse_yaml_node *node, const char *path, cse_text *out)
{
    if (node->kind == CSE_YAML_SCALAR)
        add_origin(out, path, cse_yaml_place_text(arena, node->place));
    for (int i = 0; i < node->count; i++)
        add_node(arena, node->children[i],
                 node->kind == CSE_YAML_MAPPING
                     ? cse_arena_printf(arena, "%s.%s", path, node->keys[i].text)
                     : cse_arena_printf(arena, "%s.%d", path, i),
                 out);
}

static void add_kept(cse_arena *arena, const cse_setting_value *value, const char *path,
                     cse_text *out)
{
    cse_yaml_node *node = NULL;
    if (cse_yaml_parse(arena, "", value->text, strlen(value->text), &node) == CSE_OK)
        add_node(arena, node, path, out);
}

static void add_settings(cse_arena *arena, const cse_settings *settings, const char *prefix,
                         cse_text *out)
{
    for (int i = 0; i < settings->count; i++) {
        const cse_setting_value *value = &settings->values[i];
        const char *path = cse_arena_printf(arena, "%s%s", prefix, settings->table[i].name);
        if (settings->table[i].type == CSE_SETTING_SETTINGS && value->nested != NULL)
            add_settings(arena, value->nested, cse_arena_printf(arena, "%s.", path), out);
        else if (settings->table[i].type == CSE_SETTING_ANY && value->text != NULL)
            add_kept(arena, value, path, out);
        else
            add_origin(out, path, value->origin);
    }
}

void cse_settings_origins(const cse_settings *settings, cse_text *out)
{
    cse_arena *arena = cse_arena_new();
    cse_text_add(out, "{");
    add_settings(arena, settings, "", out);
    cse_text_add(out, "}");
    cse_arena_destroy(&arena);
}
