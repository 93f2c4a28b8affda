/* Values against JSON Schema, as far as the description uses it.
 *
 * Patterns are compiled once, when the description is loaded, and found again by their text; they
 * are POSIX extended regular expressions, which for the plain ones in use read the same. Depth is
 * bounded by the description: no schema of it refers to itself. */
#include <math.h>
#include <regex.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dashboard/api_internal.h"
#include "engine/base/arena.h"

enum { MAX_FAULTS = 20 };

static void add_fault(json_t *errors, const char *pointer, const char *format, ...)
    CSE_PRINTF(3, 4);

static void add_fault(json_t *errors, const char *pointer, const char *format, ...)
{
    if (json_array_size(errors) >= MAX_FAULTS)
        return;
    va_list arguments;
    va_start(arguments, format);
    json_t *message = json_vsprintf(format, arguments);
    va_end(arguments);
    json_array_append_new(errors, json_pack("{s:s, s:o}", "pointer", pointer, "message",
                                            message != NULL ? message : json_string("wrong")));
}

static const char *type_name(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "object";
    case JSON_ARRAY:
        return "array";
    case JSON_STRING:
        return "string";
    case JSON_INTEGER:
        return "integer";
    case JSON_REAL:
        return "number";
    case JSON_NULL:
        return "null";
    default:
        return "boolean";
    }
}

static bool is_type(const json_t *value, const char *type)
{
    const char *have = type_name(value);
    return strcmp(have, type) == 0 || (strcmp(type, "number") == 0 && json_is_integer(value));
}

/* ---- whole numbers ---- */

static bool takes_integers(const json_t *type)
{
    size_t i;
    json_t *one;
    if (json_is_string(type))
        return strcmp(json_string_value(type), "integer") == 0;
    json_array_foreach(type, i, one)
    {
        if (strcmp(json_string_value(one), "integer") == 0)
            return true;
    }
    return false;
}

/* The integer that stands for `value` at a place of this schema; NULL when it stays as it is. */
static json_t *whole_number(const cse_api *api, const json_t *schema, const json_t *value)
{
    const double most = 9007199254740992.0; /* 2^53 */
    double number = json_real_value(value);
    bool whole = json_is_real(value) && number == floor(number) && fabs(number) <= most &&
                 takes_integers(json_object_get(cse_api_resolve(api, schema), "type"));
    return whole ? json_integer((json_int_t)number) : NULL;
}

void cse_api_make_whole(const cse_api *api, const json_t *schema, json_t *value)
{
    schema = cse_api_resolve(api, schema);
    const json_t *items = json_object_get(schema, "items");
    for (size_t i = 0; items != NULL && i < json_array_size(value); i++) {
        json_t *one = json_array_get(value, i), *whole = whole_number(api, items, one);
        if (whole != NULL)
            json_array_set_new(value, i, whole);
        else
            cse_api_make_whole(api, items, one);
    }
    void *at = json_is_object(value) ? json_object_iter(value) : NULL;
    for (; at != NULL; at = json_object_iter_next(value, at)) {
        const json_t *property =
            json_object_get(json_object_get(schema, "properties"), json_object_iter_key(at));
        json_t *one = json_object_iter_value(at);
        json_t *whole = property != NULL ? whole_number(api, property, one) : NULL;
        if (whole != NULL)
            json_object_iter_set_new(value, at, whole);
        else if (property != NULL)
            cse_api_make_whole(api, property, one);
    }
}

/* ---- values ---- */

static bool check_type(const json_t *type, const json_t *value, const char *pointer, json_t *errors)
{
    if (json_is_string(type)) {
        if (is_type(value, json_string_value(type)))
            return true;
        add_fault(errors, pointer, "is of type %s; accepted: %s", type_name(value),
                  json_string_value(type));
        return false;
    }
    size_t i;
    json_t *one;
    cse_text names = { 0 };
    json_array_foreach(type, i, one)
    {
        if (is_type(value, json_string_value(one))) {
            cse_text_clear(&names);
            return true;
        }
        cse_text_add(&names, "%s%s", i > 0 ? ", " : "", json_string_value(one));
    }
    add_fault(errors, pointer, "is of type %s; accepted: %s", type_name(value), names.data);
    cse_text_clear(&names);
    return false;
}

static void check_enum(const json_t *accepted, const json_t *value, const char *pointer,
                       json_t *errors)
{
    size_t i;
    json_t *one;
    cse_text names = { 0 };
    json_array_foreach(accepted, i, one)
    {
        if (json_equal(one, value)) {
            cse_text_clear(&names);
            return;
        }
        if (json_is_string(one))
            cse_text_add(&names, "%s%s", names.size > 0 ? ", " : "", json_string_value(one));
    }
    add_fault(errors, pointer, "is none of the accepted values: %s",
              names.data != NULL ? names.data : "");
    cse_text_clear(&names);
}

static size_t count_characters(const char *text, size_t size)
{
    size_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += ((unsigned char)text[i] & 0xC0) != 0x80;
    return count;
}

static void check_string(const cse_api *api, const json_t *schema, const json_t *value,
                         const char *pointer, json_t *errors)
{
    const char *text = json_string_value(value);
    json_int_t count = (json_int_t)count_characters(text, json_string_length(value));
    const json_t *minimum = json_object_get(schema, "minLength");
    const json_t *maximum = json_object_get(schema, "maxLength");
    const json_t *pattern = json_object_get(schema, "pattern");
    if (minimum != NULL && count < json_integer_value(minimum))
        add_fault(errors, pointer, "has %lld characters; at least %lld are wanted",
                  (long long)count, (long long)json_integer_value(minimum));
    if (maximum != NULL && count > json_integer_value(maximum))
        add_fault(errors, pointer, "has %lld characters; at most %lld are accepted",
                  (long long)count, (long long)json_integer_value(maximum));
    else if (pattern != NULL && !cse_api_pattern_matches(api, json_string_value(pattern), text))
        add_fault(errors, pointer, "does not match %s", json_string_value(pattern));
}

static void check_number(const json_t *schema, const json_t *value, const char *pointer,
                         json_t *errors)
{
    const json_t *minimum = json_object_get(schema, "minimum");
    const json_t *maximum = json_object_get(schema, "maximum");
    double number = json_number_value(value);
    if (minimum != NULL && number < json_number_value(minimum))
        add_fault(errors, pointer, "is %.17g; at least %.17g is wanted", number,
                  json_number_value(minimum));
    if (maximum != NULL && number > json_number_value(maximum))
        add_fault(errors, pointer, "is %.17g; at most %.17g is accepted", number,
                  json_number_value(maximum));
}

static void check_array(const cse_api *api, const json_t *schema, const json_t *value,
                        const char *pointer, json_t *errors)
{
    const json_t *maximum = json_object_get(schema, "maxItems");
    const json_t *items = json_object_get(schema, "items");
    if (maximum != NULL && (json_int_t)json_array_size(value) > json_integer_value(maximum)) {
        add_fault(errors, pointer, "has %zu items; at most %lld are accepted",
                  json_array_size(value), (long long)json_integer_value(maximum));
        return;
    }
    size_t i;
    json_t *one;
    json_array_foreach(value, i, one)
    {
        cse_text inner = { 0 };
        cse_text_add(&inner, "%s/%zu", pointer, i);
        if (items != NULL)
            cse_api_check(api, items, one, inner.data, errors);
        cse_text_clear(&inner);
    }
}

/* One member of an object: its own schema, or what is said about all others. */
static void check_member(const cse_api *api, const json_t *schema, const cse_api_member *member,
                         json_t *errors)
{
    const json_t *property = json_object_get(json_object_get(schema, "properties"), member->name);
    const json_t *others = json_object_get(schema, "additionalProperties");
    const json_t *names = json_object_get(schema, "propertyNames");
    if (names != NULL) {
        json_t *name = json_string(member->name);
        if (name == NULL || !cse_api_check(api, names, name, member->pointer, errors)) {
            json_decref(name);
            return;
        }
        json_decref(name);
    }
    if (property != NULL)
        cse_api_check(api, property, member->value, member->pointer, errors);
    else if (json_is_false(others))
        add_fault(errors, member->pointer, "is not known here");
    else if (json_is_object(others))
        cse_api_check(api, others, member->value, member->pointer, errors);
}

static void check_object(const cse_api *api, const json_t *schema, const json_t *value,
                         const char *pointer, json_t *errors)
{
    const json_t *maximum = json_object_get(schema, "maxProperties");
    if (maximum != NULL && (json_int_t)json_object_size(value) > json_integer_value(maximum)) {
        add_fault(errors, pointer, "has %zu members; at most %lld are accepted",
                  json_object_size(value), (long long)json_integer_value(maximum));
        return;
    }
    size_t i;
    json_t *name;
    json_array_foreach(json_object_get(schema, "required"), i, name)
    {
        if (json_object_get(value, json_string_value(name)) == NULL)
            add_fault(errors, pointer, "lacks the member \"%s\"", json_string_value(name));
    }
    void *at = json_object_iter((json_t *)(uintptr_t)value);
    for (; at != NULL; at = json_object_iter_next((json_t *)(uintptr_t)value, at)) {
        cse_text inner = { 0 };
        cse_text_add(&inner, "%s/%s", pointer, json_object_iter_key(at));
        const cse_api_member member = { json_object_iter_key(at), json_object_iter_value(at),
                                        inner.data };
        check_member(api, schema, &member, errors);
        cse_text_clear(&inner);
    }
}

bool cse_api_check(const cse_api *api, const json_t *schema, const json_t *value,
                   const char *pointer, json_t *errors)
{
    size_t before = json_array_size(errors);
    schema = cse_api_resolve(api, schema);
    const json_t *type = json_object_get(schema, "type");
    const json_t *accepted = json_object_get(schema, "enum");
    if (type != NULL && !check_type(type, value, pointer, errors))
        return false;
    if (accepted != NULL)
        check_enum(accepted, value, pointer, errors);
    if (json_is_string(value))
        check_string(api, schema, value, pointer, errors);
    else if (json_is_number(value))
        check_number(schema, value, pointer, errors);
    else if (json_is_array(value))
        check_array(api, schema, value, pointer, errors);
    else if (json_is_object(value))
        check_object(api, schema, value, pointer, errors);
    return json_array_size(errors) == before;
}
