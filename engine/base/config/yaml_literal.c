/* A value that is written in code, as YAML. */
#include "engine/base/config/yaml.h"

#include <string.h>

static cse_yaml_node *literal_scalar(cse_arena *arena, cse_place place, const char *text,
                                     size_t size)
{
    while (size > 0 && *text == ' ')
        text++, size--;
    while (size > 0 && text[size - 1] == ' ')
        size--;
    bool quoted = size >= 2 && text[0] == '"' && text[size - 1] == '"';
    cse_yaml_node *node = cse_yaml_scalar_new(
        arena, place, cse_arena_printf(arena, "%.*s", (int)(size - 2 * quoted), text + quoted));
    node->quoted = quoted;
    return node;
}

static void move_to(cse_yaml_node *node, cse_place place)
{
    node->place = place;
    for (int i = 0; i < node->count; i++) {
        if (node->kind == CSE_YAML_MAPPING)
            node->keys[i].place = place;
        move_to(node->children[i], place);
    }
}

cse_yaml_node *cse_yaml_literal(cse_arena *arena, cse_place place, const char *text)
{
    cse_yaml_node *parsed = NULL;
    if ((*text == '[' || *text == '{') &&
        cse_yaml_parse(arena, "", text, strlen(text), &parsed) == CSE_OK && parsed != NULL &&
        parsed->kind != CSE_YAML_SCALAR) {
        move_to(parsed, place);
        return parsed;
    }
    return literal_scalar(arena, place, text, strlen(text));
}
