/* JSON Schema of a table of settings: name, type, range, default and documentation of each. */
#include "dashboard/api/settings_schema.h"

#include <string.h>

static void add_bounds(json_t *schema, const cse_setting *setting)
{
    const double most = 1e299;
    if (setting->min == 0 && setting->max == 0)
        return;
    json_object_set_new(schema, "minimum", json_real(setting->min));
    if (setting->max < most)
        json_object_set_new(schema, "maximum", json_real(setting->max));
}

static json_t *choices_of(const char *choices)
{
    json_t *list = json_array();
    while (choices != NULL && *choices != '\0') {
        size_t length = strcspn(choices, "|");
        json_array_append_new(list, json_stringn(choices, length));
        choices += length + (choices[length] == '|');
    }
    return list;
}

static json_t *list_of(const char *type)
{
    return json_pack("{s:s, s:{s:s}}", "type", "array", "items", "type", type);
}

static json_t *schema_of_setting(const cse_setting *setting)
{
    switch (setting->type) {
    case CSE_SETTING_BOOL:
        return json_pack("{s:s}", "type", "boolean");
    case CSE_SETTING_INTEGER:
        return json_pack("{s:s}", "type", "integer");
    case CSE_SETTING_NUMBER:
        return json_pack("{s:s}", "type", "number");
    case CSE_SETTING_NAME:
    case CSE_SETTING_PATH:
    case CSE_SETTING_TEXT:
        return json_pack("{s:[s,s,s]}", "type", "string", "number", "null");
    case CSE_SETTING_CHOICE:
        return json_pack("{s:o}", "enum", choices_of(setting->choices));
    case CSE_SETTING_INTEGER_LIST:
        return list_of("integer");
    case CSE_SETTING_NUMBER_LIST:
        return list_of("number");
    case CSE_SETTING_TEXT_LIST:
        return list_of("string");
    case CSE_SETTING_PATHS:
        return json_pack("{s:[{s:s},{s:s,s:{s:s}}]}", "anyOf", "type", "string", "type", "array",
                         "items", "type", "string");
    case CSE_SETTING_SETTINGS:
        return cse_settings_schema(setting->nested);
    default:
        return json_object();
    }
}

/* A value that is unset unless given may be written as null. */
static void allow_null(json_t *schema, const cse_setting *setting)
{
    const char *type = json_string_value(json_object_get(schema, "type"));
    if (setting->default_value != NULL && strcmp(setting->default_value, "null") == 0 &&
        type != NULL)
        json_object_set_new(schema, "type", json_pack("[s,s]", type, "null"));
    else if (json_object_get(schema, "enum") != NULL && setting->default_value != NULL &&
             strcmp(setting->default_value, "null") == 0)
        json_array_append_new(json_object_get(schema, "enum"), json_null());
}

/* Texts of settings are YAML; what is neither a number nor a word of JSON is a string. */
static void add_default(json_t *schema, const cse_setting *setting)
{
    if (setting->default_value == NULL || setting->type == CSE_SETTING_SETTINGS)
        return;
    json_t *value = json_loads(setting->default_value, JSON_DECODE_ANY, NULL);
    json_object_set_new(schema, "default",
                        value != NULL ? value : json_string(setting->default_value));
}

json_t *cse_settings_schema(const cse_setting *table)
{
    json_t *properties = json_object(), *required = json_array();
    for (const cse_setting *s = table; s != NULL && s->name != NULL; s++) {
        json_t *schema = schema_of_setting(s);
        if (s->doc != NULL)
            json_object_set_new(schema, "description", json_string(s->doc));
        if (s->type == CSE_SETTING_INTEGER || s->type == CSE_SETTING_NUMBER)
            add_bounds(schema, s);
        allow_null(schema, s);
        add_default(schema, s);
        if (s->default_value == NULL)
            json_array_append_new(required, json_string(s->name));
        json_object_set_new(properties, s->name, schema);
    }
    json_t *object = json_pack("{s:s, s:o, s:b}", "type", "object", "properties", properties,
                               "additionalProperties", 0);
    if (json_array_size(required) > 0)
        json_object_set_new(object, "required", required);
    else
        json_decref(required);
    return object;
}
