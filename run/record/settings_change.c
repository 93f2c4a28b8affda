/* Values are compared as they are written: both configurations were completed by one table. */
#include "run/record/settings_change.h"

#include <string.h>

#include "engine/base/config/yaml.h"
#include "store/reader.h"

enum { MOST_NAMED = 6, LONGEST_VALUE = 60 };

typedef struct values {
    cse_yaml_unread *list;
    int count;
} values;

static bool read_values(cse_arena *arena, const char *text, size_t size, values *found)
{
    cse_yaml_node *root = NULL;
    if (cse_yaml_parse(arena, "configuration", text, size, &root) != CSE_OK || root == NULL)
        return false;
    found->count = cse_yaml_list_values(arena, root, &found->list);
    return true;
}

/* "none" where there is no such value. */
static void print(const cse_yaml_node *node, cse_text *text)
{
    text->size = 0;
    cse_text_add(text, "%s", "");
    if (node != NULL)
        cse_yaml_print(node, text);
    else
        cse_text_add(text, "none");
    if (text->size > LONGEST_VALUE) {
        text->size = LONGEST_VALUE;
        cse_text_add(text, "...");
    }
}

/* Those of `a`; where both have a value of the path, only as `first`. */
static void add_changes(const values *a, const values *b, bool first, int *count, cse_text *message)
{
    cse_text one = { 0 }, other = { 0 };
    for (int i = 0; i < a->count; i++) {
        const char *path = a->list[i].path;
        const cse_yaml_node *in_b = cse_yaml_listed(b->list, b->count, path);
        if (!first && in_b != NULL)
            continue;
        print(a->list[i].node, &one);
        print(in_b, &other);
        if (strcmp(one.data, other.data) == 0 || (*count)++ >= MOST_NAMED)
            continue;
        cse_text_add(message, "%s%s: %s -> %s", *count > 1 ? "; " : "settings changed: ", path,
                     first ? one.data : other.data, first ? other.data : one.data);
    }
    cse_text_clear(&one);
    cse_text_clear(&other);
}

static bool is_same(const cse_text *yaml, const char *resolved)
{
    return yaml->size == strlen(resolved) && memcmp(yaml->data, resolved, yaml->size) == 0;
}

void cse_settings_change(const char *model_dir, const char *resolved, cse_text *message)
{
    cse_store_reader *reader = NULL;
    cse_text yaml = { 0 };
    int count = 0;
    if (resolved == NULL || cse_store_reader_open(model_dir, &reader) != CSE_OK)
        return;
    cse_arena *arena = cse_arena_new();
    values before = { 0 }, now = { 0 };
    if (cse_store_reader_artefact(reader, "config.yaml", &yaml, NULL, 0) == CSE_OK &&
        !is_same(&yaml, resolved) && read_values(arena, yaml.data, yaml.size, &before) &&
        read_values(arena, resolved, strlen(resolved), &now)) {
        add_changes(&before, &now, true, &count, message);
        add_changes(&now, &before, false, &count, message);
    }
    if (count > MOST_NAMED)
        cse_text_add(message, "; and %d more", count - MOST_NAMED);
    cse_arena_destroy(&arena);
    cse_text_clear(&yaml);
    cse_store_reader_close(&reader);
}
