/* Checked settings: parsing text, reading values, the canonical line.
 *
 * Values lie in one arena that the settings own. A name or type that is not in the table is a
 * mistake of the code that asks, not of the user: the process ends with a message. */
#include "engine/config/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

cse_status cse_settings_parse(const cse_setting *table, const char *subject, const char *yaml,
                              cse_settings **settings)
{
    *settings = NULL;
    cse_arena *arena = cse_arena_new();
    cse_yaml_node *root = NULL;
    cse_status status = cse_yaml_parse(arena, "", yaml, yaml != NULL ? strlen(yaml) : 0, &root);
    if (status != CSE_OK) {
        status = cse_fail_within(status, "%s: ", subject);
    } else {
        cse_settings_expected expected = { .table = table, .subject = subject, .prefix = "" };
        status = cse_settings_check(arena, &expected, root, settings);
    }
    if (status != CSE_OK)
        cse_arena_destroy(&arena);
    return status;
}

void cse_settings_destroy(cse_settings **settings)
{
    if (*settings == NULL)
        return;
    cse_arena *arena = (*settings)->arena;
    cse_arena_destroy(&arena);
    *settings = NULL;
}

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

/* A value that is there and has the type. */
static const cse_setting_value *get(const cse_settings *settings, const char *name,
                                    cse_setting_type type)
{
    cse_setting_type actual;
    const cse_setting_value *value = find(settings, name, &actual);
    if (actual != type)
        misuse(name, "is read as another type than the table's");
    if (value->is_null)
        misuse(name, "is null; ask cse_settings_has first");
    return value;
}

static const cse_setting_value *get_entry(const cse_settings *settings, const char *name,
                                          cse_setting_type type, int index)
{
    const cse_setting_value *value = get(settings, name, type);
    if (index < 0 || index >= value->count)
        misuse(name, "has no entry of that index");
    return &value->entries[index];
}

bool cse_settings_has(const cse_settings *settings, const char *name)
{
    cse_setting_type type;
    return !find(settings, name, &type)->is_null;
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
    if (type != CSE_SETTING_TEXT && type != CSE_SETTING_CHOICE && type != CSE_SETTING_ANY)
        misuse(name, "is read as text, which it is not");
    return value->is_null ? NULL : value->text;
}

int cse_settings_count(const cse_settings *settings, const char *name)
{
    cse_setting_type type;
    const cse_setting_value *value = find(settings, name, &type);
    if (type != CSE_SETTING_INTEGER_LIST && type != CSE_SETTING_NUMBER_LIST &&
        type != CSE_SETTING_TEXT_LIST)
        misuse(name, "is read as a list, which it is not");
    return value->count;
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
    return get_entry(settings, name, CSE_SETTING_TEXT_LIST, index)->text;
}

const cse_settings *cse_settings_nested(const cse_settings *settings, const char *name)
{
    return get(settings, name, CSE_SETTING_SETTINGS)->nested;
}

const char *cse_settings_origin(const cse_settings *settings, const char *name)
{
    cse_setting_type type;
    return find(settings, name, &type)->origin;
}

const char *cse_settings_canonical(const cse_settings *settings)
{
    return settings->canonical;
}

/* The shortest decimal text that reads back as the same number. */
static void print_number(double number, cse_text *text)
{
    char digits[40];
    for (int precision = 1; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, number);
        if (strtod(digits, NULL) == number)
            break;
    }
    /* Another locale's decimal point. */
    char *comma = strchr(digits, ',');
    if (comma != NULL)
        *comma = '.';
    cse_text_add(text, "%s", digits);
}

static void print_list(cse_setting_type type, const cse_setting_value *value, cse_text *text)
{
    cse_text_add(text, "[");
    for (int i = 0; i < value->count; i++) {
        const cse_setting_value *entry = &value->entries[i];
        if (i > 0)
            cse_text_add(text, ", ");
        if (type == CSE_SETTING_INTEGER_LIST)
            cse_text_add(text, "%lld", (long long)entry->integer);
        else if (type == CSE_SETTING_NUMBER_LIST)
            print_number(entry->number, text);
        else
            cse_yaml_print_text(entry->text, text);
    }
    cse_text_add(text, "]");
}

static void print_value(cse_setting_type type, const cse_setting_value *value, cse_text *text)
{
    if (value->is_null) {
        cse_text_add(text, "null");
        return;
    }
    switch (type) {
    case CSE_SETTING_BOOL:
        cse_text_add(text, value->boolean ? "true" : "false");
        break;
    case CSE_SETTING_INTEGER:
        cse_text_add(text, "%lld", (long long)value->integer);
        break;
    case CSE_SETTING_NUMBER:
        print_number(value->number, text);
        break;
    case CSE_SETTING_TEXT:
    case CSE_SETTING_CHOICE:
        cse_yaml_print_text(value->text, text);
        break;
    case CSE_SETTING_SETTINGS:
        cse_settings_print(value->nested, text);
        break;
    case CSE_SETTING_ANY:
        cse_text_add(text, "%s", value->canonical);
        break;
    default:
        print_list(type, value, text);
    }
}

void cse_settings_print(const cse_settings *settings, cse_text *text)
{
    cse_text_add(text, "{");
    for (int i = 0; i < settings->count; i++) {
        cse_text_add(text, "%s%s: ", i > 0 ? ", " : "", settings->table[i].name);
        print_value(settings->table[i].type, &settings->values[i], text);
    }
    cse_text_add(text, "}");
}
