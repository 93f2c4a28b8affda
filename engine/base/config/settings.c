/* Reading checked settings.
 *
 * Values live in one arena that the settings own. A name or type that is not in the table is a bug
 * in the calling code, not a user error: the process ends with a message. */
#include "engine/base/config/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/json.h"

void cse_settings_destroy(cse_settings **settings)
{
    if (*settings == NULL)
        return;
    cse_arena *arena = (*settings)->arena;
    cse_arena_destroy(&arena);
    *settings = NULL;
}

/* ---- finding ---- */

static _Noreturn void misuse(const char *name, const char *problem)
{
    fprintf(stderr, "csengine: internal error: setting \"%s\" %s\n", name, problem);
    abort();
}

static const cse_setting_value *find(const cse_settings *settings, const char *name,
                                     cse_setting_type *type)
{
    for (int i = 0; i < settings->count; i++)
        if (strcmp(settings->table[i].name, name) == 0) {
            *type = settings->table[i].type;
            return &settings->values[i];
        }
    misuse(name, "is not in the table");
}

/* A value of the given type, which is marked as read. */
static const cse_setting_value *get(const cse_settings *settings, const char *name,
                                    cse_setting_type type)
{
    cse_setting_type actual;
    const cse_setting_value *value = find(settings, name, &actual);
    if (actual != type)
        misuse(name, "is read as another type than the table's");
    if (value->is_null)
        misuse(name, "is null; ask cse_settings_has first");
    if (type != CSE_SETTING_SETTINGS) /* nested values are marked one by one */
        value->node->read = true;
    return value;
}

static const cse_setting_value *get_list(const cse_settings *settings, const char *name)
{
    cse_setting_type type;
    const cse_setting_value *value = find(settings, name, &type);
    if (type != CSE_SETTING_INTEGER_LIST && type != CSE_SETTING_NUMBER_LIST &&
        type != CSE_SETTING_TEXT_LIST && type != CSE_SETTING_PATHS)
        misuse(name, "is read as a list, which it is not");
    value->node->read = true;
    return value;
}

static const cse_setting_value *entry_of(const cse_setting_value *list, const char *name, int index)
{
    if (index < 0 || index >= list->count)
        misuse(name, "has no entry of that index");
    return &list->entries[index];
}

static const cse_setting_value *get_entry(const cse_settings *settings, const char *name,
                                          cse_setting_type type, int index)
{
    return entry_of(get(settings, name, type), name, index);
}

/* ---- values ---- */

/* A null has nothing more to read, so that finding it marks it as read. */
bool cse_settings_has(const cse_settings *settings, const char *name)
{
    cse_setting_type type;
    const cse_setting_value *value = find(settings, name, &type);
    if (value->is_null)
        value->node->read = true;
    return !value->is_null;
}

bool cse_settings_bool(const cse_settings *settings, const char *name)
{
    return get(settings, name, CSE_SETTING_BOOL)->boolean;
}

int64_t cse_settings_integer(const cse_settings *settings, const char *name)
{
    return get(settings, name, CSE_SETTING_INTEGER)->integer;
}

double cse_settings_number(const cse_settings *settings, const char *name)
{
    return get(settings, name, CSE_SETTING_NUMBER)->number;
}

const char *cse_settings_text(const cse_settings *settings, const char *name)
{
    cse_setting_type type;
    const cse_setting_value *value = find(settings, name, &type);
    if (type != CSE_SETTING_TEXT && type != CSE_SETTING_PATH && type != CSE_SETTING_CHOICE &&
        type != CSE_SETTING_NAME && type != CSE_SETTING_ANY)
        misuse(name, "is read as text, which it is not");
    value->node->read = true;
    if (value->is_null || type != CSE_SETTING_ANY)
        return value->is_null ? NULL : value->text;
    cse_text text = { 0 };
    cse_yaml_print(value->node, &text);
    const char *copy = cse_arena_string(settings->arena, text.data);
    cse_text_clear(&text);
    return copy;
}

int cse_settings_count(const cse_settings *settings, const char *name)
{
    return get_list(settings, name)->count;
}

int64_t cse_settings_integer_at(const cse_settings *settings, const char *name, int index)
{
    return get_entry(settings, name, CSE_SETTING_INTEGER_LIST, index)->integer;
}

double cse_settings_number_at(const cse_settings *settings, const char *name, int index)
{
    return get_entry(settings, name, CSE_SETTING_NUMBER_LIST, index)->number;
}

const char *cse_settings_text_at(const cse_settings *settings, const char *name, int index)
{
    cse_setting_type type;
    find(settings, name, &type);
    return get_entry(settings, name,
                     type == CSE_SETTING_PATHS ? CSE_SETTING_PATHS : CSE_SETTING_TEXT_LIST, index)
        ->text;
}

const cse_settings *cse_settings_nested(const cse_settings *settings, const char *name)
{
    return get(settings, name, CSE_SETTING_SETTINGS)->nested;
}

const cse_settings *cse_settings_section(const cse_settings *settings, const char *path)
{
    char *copy = cse_strdup(path), *rest = copy;
    for (char *name = strsep(&rest, "."); name != NULL && settings != NULL;
         name = strsep(&rest, "."))
        settings = cse_settings_nested(settings, name);
    free(copy);
    return settings;
}

cse_yaml_node *cse_settings_node(const cse_settings *settings, const char *name)
{
    cse_setting_type type;
    return find(settings, name, &type)->node;
}

void cse_settings_leave(const cse_settings *settings)
{
    for (int i = 0; i < settings->count; i++) {
        if (settings->values[i].node != NULL)
            settings->values[i].node->read = true;
        if (settings->values[i].nested != NULL)
            cse_settings_leave(settings->values[i].nested);
    }
}

/* ---- places ---- */

bool cse_setting_table_has(const cse_setting *table, const char *name)
{
    while (table->name != NULL && strcmp(table->name, name) != 0)
        table++;
    return table->name != NULL;
}

bool cse_settings_given(const cse_settings *settings, const char *name)
{
    cse_setting_type type;
    return find(settings, name, &type)->given;
}

cse_place cse_settings_place(const cse_settings *settings, const char *name)
{
    cse_setting_type type;
    return find(settings, name, &type)->node->place;
}

cse_place cse_settings_place_at(const cse_settings *settings, const char *name, int index)
{
    return entry_of(get_list(settings, name), name, index)->node->place;
}

const char *cse_settings_origin(const cse_settings *settings, const char *name)
{
    return cse_yaml_place_text(settings->arena, cse_settings_place(settings, name));
}

/* ---- the values as a tree ---- */

/* The shortest decimal text that reads back as the same number. */
static cse_yaml_node *number_node(cse_arena *arena, cse_place place, double number)
{
    char digits[40];
    for (int precision = 1; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, number);
        if (strtod(digits, NULL) == number)
            break;
    }
    /* The decimal point of some locales is a comma. */
    char *comma = strchr(digits, ',');
    if (comma != NULL)
        *comma = '.';
    return cse_yaml_scalar_new(arena, place, digits);
}

static cse_yaml_node *value_node(cse_arena *arena, cse_setting_type type,
                                 const cse_setting_value *value)
{
    const cse_place place = value->node->place;
    static const cse_setting_type entry_types[] = {
        [CSE_SETTING_INTEGER_LIST] = CSE_SETTING_INTEGER,
        [CSE_SETTING_NUMBER_LIST] = CSE_SETTING_NUMBER,
        [CSE_SETTING_TEXT_LIST] = CSE_SETTING_TEXT,
        [CSE_SETTING_PATHS] = CSE_SETTING_PATH,
    };
    if (value->is_null)
        return cse_yaml_scalar_new(arena, place, "null");
    switch (type) {
    case CSE_SETTING_BOOL:
        return cse_yaml_scalar_new(arena, place, value->boolean ? "true" : "false");
    case CSE_SETTING_INTEGER:
        return cse_yaml_scalar_new(arena, place,
                                   cse_arena_printf(arena, "%lld", (long long)value->integer));
    case CSE_SETTING_NUMBER:
        return number_node(arena, place, value->number);
    case CSE_SETTING_SETTINGS:
        return cse_settings_tree(arena, value->nested);
    case CSE_SETTING_ANY:
        return value->node;
    case CSE_SETTING_TEXT:
    case CSE_SETTING_NAME:
    case CSE_SETTING_PATH:
    case CSE_SETTING_CHOICE: {
        cse_yaml_node *node = cse_yaml_scalar_new(arena, place, value->text);
        node->quoted = true;
        return node;
    }
    default: {
        cse_yaml_node *list = cse_yaml_sequence_new(arena, place);
        for (int i = 0; i < value->count; i++)
            cse_yaml_append(arena, list, value_node(arena, entry_types[type], &value->entries[i]));
        return list;
    }
    }
}

cse_yaml_node *cse_settings_tree(cse_arena *arena, const cse_settings *settings)
{
    cse_yaml_node *mapping = cse_yaml_mapping_new(arena, settings->node->place);
    for (int i = 0; i < settings->count; i++)
        if (settings->table[i].type != CSE_SETTING_ALIAS)
            cse_yaml_put(arena, mapping, (cse_yaml_key){ settings->table[i].name, mapping->place },
                         value_node(arena, settings->table[i].type, &settings->values[i]));
    return mapping;
}

const char *cse_settings_canonical(const cse_settings *settings)
{
    cse_text text = { 0 };
    cse_yaml_print(cse_settings_tree(settings->arena, settings), &text);
    const char *canonical = cse_arena_string(settings->arena, text.data);
    cse_text_clear(&text);
    return canonical;
}

/* ---- where each value came from ---- */

static void add_origin(cse_arena *arena, const char *path, cse_place place, cse_text *out)
{
    cse_text_add(out, out->data[out->size - 1] == '{' ? "" : ",");
    cse_json_add_string(out, path);
    cse_text_add(out, ":");
    cse_json_add_string(out, cse_yaml_place_text(arena, place));
}

/* For a plugin's section, which is checked against the plugin's own table: every scalar. */
static void add_node_origins(cse_arena *arena, const cse_yaml_node *node, const char *path,
                             cse_text *out)
{
    if (node->kind == CSE_YAML_SCALAR)
        add_origin(arena, path, node->place, out);
    for (int i = 0; i < node->count; i++)
        add_node_origins(arena, node->children[i],
                         node->kind == CSE_YAML_MAPPING
                             ? cse_arena_printf(arena, "%s.%s", path, node->keys[i].text)
                             : cse_arena_printf(arena, "%s.%d", path, i),
                         out);
}

static void add_settings_origins(cse_arena *arena, const cse_settings *settings, const char *prefix,
                                 cse_text *out)
{
    for (int i = 0; i < settings->count; i++) {
        const cse_setting_value *value = &settings->values[i];
        const cse_setting_type type = settings->table[i].type;
        const char *path = cse_arena_printf(arena, "%s%s", prefix, settings->table[i].name);
        if (type == CSE_SETTING_ALIAS)
            continue;
        if (type == CSE_SETTING_SETTINGS)
            add_settings_origins(arena, value->nested, cse_arena_printf(arena, "%s.", path), out);
        else if (type == CSE_SETTING_ANY && !value->is_null)
            add_node_origins(arena, value->node, path, out);
        else
            add_origin(arena, path, value->node->place, out);
    }
}

void cse_settings_origins(const cse_settings *settings, cse_text *out)
{
    cse_arena *arena = cse_arena_new();
    cse_text_add(out, "{");
    add_settings_origins(arena, settings, "", out);
    cse_text_add(out, "}");
    cse_arena_destroy(&arena);
}
