/* The tree: making nodes, finding them, parsing literals of C source, and listing unread values. */
#include <string.h>

#include "engine/base/config/yaml.h"
#include "engine/base/error.h"

bool cse_yaml_is_null(const cse_yaml_node *node)
{
    static const char *const words[] = { "", "null", "Null", "NULL", "~" };
    if (node->kind != CSE_YAML_SCALAR || node->quoted)
        return false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(node->text, words[i]) == 0)
            return true;
    return false;
}

cse_yaml_node *cse_yaml_find(const cse_yaml_node *node, const char *key)
{
    for (int i = 0; node != NULL && node->kind == CSE_YAML_MAPPING && i < node->count; i++)
        if (strcmp(node->keys[i].text, key) == 0)
            return node->children[i];
    return NULL;
}

/* ---- making ---- */

static cse_yaml_node *node_new(cse_arena *arena, cse_yaml_kind kind, cse_place place)
{
    cse_yaml_node *node = cse_arena_alloc(arena, sizeof *node);
    node->kind = kind;
    node->place = place;
    return node;
}

cse_yaml_node *cse_yaml_scalar_new(cse_arena *arena, cse_place place, const char *text)
{
    cse_yaml_node *node = node_new(arena, CSE_YAML_SCALAR, place);
    node->text = cse_arena_string(arena, text);
    return node;
}

cse_yaml_node *cse_yaml_mapping_new(cse_arena *arena, cse_place place)
{
    return node_new(arena, CSE_YAML_MAPPING, place);
}

cse_yaml_node *cse_yaml_sequence_new(cse_arena *arena, cse_place place)
{
    return node_new(arena, CSE_YAML_SEQUENCE, place);
}

static void add_child(cse_arena *arena, cse_yaml_node *parent, cse_yaml_key key,
                      cse_yaml_node *child)
{
    if (parent->count == parent->capacity) {
        int capacity = parent->capacity > 0 ? parent->capacity * 2 : 8;
        size_t used = (size_t)parent->count;
        cse_yaml_node **children = cse_arena_alloc(arena, (size_t)capacity * sizeof *children);
        cse_yaml_key *keys = cse_arena_alloc(arena, (size_t)capacity * sizeof *keys);
        if (used > 0) {
            memcpy(children, parent->children, used * sizeof *children);
            memcpy(keys, parent->keys, used * sizeof *keys);
        }
        parent->children = children;
        parent->keys = keys;
        parent->capacity = capacity;
    }
    parent->children[parent->count] = child;
    parent->keys[parent->count++] = key;
}

void cse_yaml_put(cse_arena *arena, cse_yaml_node *mapping, cse_yaml_key key, cse_yaml_node *child)
{
    for (int i = 0; i < mapping->count; i++)
        if (strcmp(mapping->keys[i].text, key.text) == 0) {
            mapping->keys[i] = key;
            mapping->children[i] = child;
            return;
        }
    add_child(arena, mapping, key, child);
}

void cse_yaml_remove(cse_yaml_node *mapping, const char *key)
{
    for (int i = 0; i < mapping->count; i++) {
        if (strcmp(mapping->keys[i].text, key) != 0)
            continue;
        size_t after = (size_t)(--mapping->count - i);
        memmove(&mapping->keys[i], &mapping->keys[i + 1], after * sizeof *mapping->keys);
        memmove(&mapping->children[i], &mapping->children[i + 1], after * sizeof(cse_yaml_node *));
        return;
    }
}

void cse_yaml_drop_replaced(cse_yaml_node *node)
{
    for (int i = node->count - 1; i >= 0; i--)
        if (node->kind == CSE_YAML_MAPPING && node->children[i]->replaced)
            cse_yaml_remove(node, node->keys[i].text);
        else
            cse_yaml_drop_replaced(node->children[i]);
}

void cse_yaml_append(cse_arena *arena, cse_yaml_node *sequence, cse_yaml_node *child)
{
    add_child(arena, sequence, (cse_yaml_key){ NULL, child->place }, child);
}

cse_yaml_node *cse_yaml_without(cse_arena *arena, const cse_yaml_node *mapping,
                                const char *const *keys)
{
    cse_yaml_node *rest = cse_yaml_mapping_new(arena, mapping->place);
    for (int i = 0; i < mapping->count; i++) {
        const char *const *key = keys;
        while (*key != NULL && strcmp(*key, mapping->keys[i].text) != 0)
            key++;
        if (*key == NULL)
            add_child(arena, rest, mapping->keys[i], mapping->children[i]);
    }
    return rest;
}

const char *cse_yaml_place_text(cse_arena *arena, cse_place place)
{
    char text[4200]; /* a path and two numbers */
    cse_place_print(place, text, sizeof text);
    return cse_arena_string(arena, text);
}

/* ---- what was not read ---- */

typedef struct unread_list {
    cse_arena *arena;
    bool all; /* also what was read */
    cse_yaml_unread *entries;
    int count, capacity;
} unread_list;

static void add_unread(unread_list *list, const char *path, const cse_yaml_node *node)
{
    if (list->count == list->capacity) {
        int capacity = list->capacity > 0 ? 2 * list->capacity : 16;
        cse_yaml_unread *grown = cse_arena_alloc(list->arena, (size_t)capacity * sizeof *grown);
        if (list->count > 0)
            memcpy(grown, list->entries, (size_t)list->count * sizeof *grown);
        list->entries = grown;
        list->capacity = capacity;
    }
    list->entries[list->count++] = (cse_yaml_unread){ path, node->place, node };
}

/* A value that is reported as one: a scalar, or a list of scalars none of which was read. */
static bool is_whole(const cse_yaml_node *node, bool all)
{
    for (int i = 0; i < node->count; i++)
        if (node->kind == CSE_YAML_MAPPING || node->children[i]->kind != CSE_YAML_SCALAR ||
            (node->children[i]->read && !all))
            return false;
    return node->kind == CSE_YAML_SCALAR || node->count > 0;
}

static void find_unread(unread_list *list, const cse_yaml_node *node, const char *path)
{
    if (node->read && !list->all)
        return;
    if (is_whole(node, list->all)) {
        add_unread(list, path, node);
        return;
    }
    const char *dot = *path != '\0' ? "." : "";
    for (int i = 0; i < node->count; i++)
        find_unread(list, node->children[i],
                    node->kind == CSE_YAML_MAPPING
                        ? cse_arena_printf(list->arena, "%s%s%s", path, dot, node->keys[i].text)
                        : cse_arena_printf(list->arena, "%s%s%d", path, dot, i));
}

int cse_yaml_list_unread(cse_arena *arena, const cse_yaml_node *node, cse_yaml_unread **entries)
{
    unread_list list = { .arena = arena };
    find_unread(&list, node, "");
    *entries = list.entries;
    return list.count;
}

int cse_yaml_list_values(cse_arena *arena, const cse_yaml_node *node, cse_yaml_unread **entries)
{
    unread_list list = { .arena = arena, .all = true };
    find_unread(&list, node, "");
    *entries = list.entries;
    return list.count;
}
