/* Loading the schemas of a document, and checking values against them. */
#include "dashboard/api/validator.h"

#include <assert.h>
#include <math.h>
#include <regex.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/text.h"

typedef struct compiled_pattern {
    const char *text; /* view into the document */
    regex_t expression;
} compiled_pattern;

struct cse_validator {
    json_t *document;
    compiled_pattern *patterns;
    int pattern_count, pattern_capacity;
};

/* ---- the document ---- */

static cse_status add_pattern(cse_validator *v, const char *text)
{
    CSE_GROW(v->patterns, v->pattern_count, v->pattern_capacity);
    compiled_pattern *p = &v->patterns[v->pattern_count];
    p->text = text;
    if (regcomp(&p->expression, text, REG_EXTENDED | REG_NOSUB) != 0)
        return cse_fail(CSE_INTERNAL, "openapi: the pattern %s is no regular expression", text);
    v->pattern_count++;
    return CSE_OK;
}

/* Compiles every pattern below, and follows every reference. */
static cse_status scan(cse_validator *v, const json_t *node)
{
    const char *key;
    size_t i;
    json_t *one;
    json_array_foreach(node, i, one) CSE_TRY(scan(v, one));
    json_object_foreach((json_t *)(uintptr_t)node, key, one)
    {
        bool shown = strcmp(key, "example") == 0 || strcmp(key, "examples") == 0;
        if (strcmp(key, "pattern") == 0 && json_is_string(one))
            CSE_TRY(add_pattern(v, json_string_value(one)));
        else if (strcmp(key, "$ref") == 0 && cse_validator_resolve(v, node) == NULL)
            return cse_fail(CSE_INTERNAL, "openapi: %s leads nowhere", json_string_value(one));
        else if (!shown)
            CSE_TRY(scan(v, one));
    }
    return CSE_OK;
}

cse_status cse_validator_new(json_t *document, cse_validator **validator)
{
    cse_validator *v = cse_calloc(1, sizeof *v);
    assert(json_is_object(document));
    v->document = document;
    cse_status status = scan(v, document);
    if (status != CSE_OK)
        cse_validator_destroy(&v);
    *validator = v;
    return status;
}

void cse_validator_destroy(cse_validator **validator)
{
    if (*validator == NULL)
        return;
    for (int i = 0; i < (*validator)->pattern_count; i++)
        regfree(&(*validator)->patterns[i].expression);
    free((*validator)->patterns);
    json_decref((*validator)->document);
    free(*validator);
    *validator = NULL;
}

const json_t *cse_validator_document_view(const cse_validator *v)
{
    return v->document;
}

const json_t *cse_validator_resolve(const cse_validator *v, const json_t *schema)
{
    const char *reference = json_string_value(json_object_get(schema, "$ref"));
    if (reference == NULL)
        return schema;
    const json_t *at = v->document;
    char *copy = cse_strdup(reference), *rest = copy, *word;
    for (word = strsep(&rest, "/"); word != NULL && at != NULL; word = strsep(&rest, "/"))
        if (strcmp(word, "#") != 0)
            at = json_object_get(at, word);
    free(copy);
    return at;
}

static bool matches(const cse_validator *v, const char *text, const char *value)
{
    for (int i = 0; i < v->pattern_count; i++)
        if (strcmp(v->patterns[i].text, text) == 0)
            return regexec(&v->patterns[i].expression, value, 0, NULL, 0) == 0;
    return false;
}

/* ---- diagnostics ---- */

enum { MAX_DIAGNOSTICS = 20 };

static void add_diagnostic(json_t *errors, const char *pointer, const char *format, ...)
    CSE_PRINTF(3, 4);

static void add_diagnostic(json_t *errors, const char *pointer, const char *format, ...)
{
    if (json_array_size(errors) >= MAX_DIAGNOSTICS)
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

/* `value` as an integer where this schema wants one; NULL when it is not to be changed. */
static json_t *whole_number(const cse_validator *v, const json_t *schema, const json_t *value)
{
    const double most = 9007199254740992.0; /* 2^53 */
    double number = json_real_value(value);
    bool whole = json_is_real(value) && number == floor(number) && fabs(number) <= most &&
                 takes_integers(json_object_get(cse_validator_resolve(v, schema), "type"));
    return whole ? json_integer((json_int_t)number) : NULL;
}

void cse_validator_make_whole(const cse_validator *v, const json_t *schema, json_t *value)
{
    schema = cse_validator_resolve(v, schema);
    const json_t *items = json_object_get(schema, "items");
    for (size_t i = 0; items != NULL && i < json_array_size(value); i++) {
        json_t *one = json_array_get(value, i), *whole = whole_number(v, items, one);
        if (whole != NULL)
            json_array_set_new(value, i, whole);
        else
            cse_validator_make_whole(v, items, one);
    }
    void *at = json_is_object(value) ? json_object_iter(value) : NULL;
    for (; at != NULL; at = json_object_iter_next(value, at)) {
        const json_t *property =
            json_object_get(json_object_get(schema, "properties"), json_object_iter_key(at));
        json_t *one = json_object_iter_value(at);
        json_t *whole = property != NULL ? whole_number(v, property, one) : NULL;
        if (whole != NULL)
            json_object_iter_set_new(value, at, whole);
        else if (property != NULL)
            cse_validator_make_whole(v, property, one);
    }
}

/* ---- values ---- */

static bool check_type(const json_t *type, const json_t *value, const char *pointer, json_t *errors)
{
    if (json_is_string(type)) {
        if (is_type(value, json_string_value(type)))
            return true;
        add_diagnostic(errors, pointer, "is of type %s; accepted: %s", type_name(value),
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
    add_diagnostic(errors, pointer, "is of type %s; accepted: %s", type_name(value), names.data);
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
    add_diagnostic(errors, pointer, "is none of the accepted values: %s",
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

static void check_string(const cse_validator *v, const json_t *schema, const json_t *value,
                         const char *pointer, json_t *errors)
{
    const char *text = json_string_value(value);
    json_int_t count = (json_int_t)count_characters(text, json_string_length(value));
    const json_t *minimum = json_object_get(schema, "minLength");
    const json_t *maximum = json_object_get(schema, "maxLength");
    const json_t *pattern = json_object_get(schema, "pattern");
    if (minimum != NULL && count < json_integer_value(minimum))
        add_diagnostic(errors, pointer, "has %lld characters; at least %lld are wanted",
                       (long long)count, (long long)json_integer_value(minimum));
    if (maximum != NULL && count > json_integer_value(maximum))
        add_diagnostic(errors, pointer, "has %lld characters; at most %lld are accepted",
                       (long long)count, (long long)json_integer_value(maximum));
    else if (pattern != NULL && !matches(v, json_string_value(pattern), text))
        add_diagnostic(errors, pointer, "does not match %s", json_string_value(pattern));
}

static void check_number(const json_t *schema, const json_t *value, const char *pointer,
                         json_t *errors)
{
    const json_t *minimum = json_object_get(schema, "minimum");
    const json_t *maximum = json_object_get(schema, "maximum");
    double number = json_number_value(value);
    if (minimum != NULL && number < json_number_value(minimum))
        add_diagnostic(errors, pointer, "is %.17g; at least %.17g is wanted", number,
                       json_number_value(minimum));
    if (maximum != NULL && number > json_number_value(maximum))
        add_diagnostic(errors, pointer, "is %.17g; at most %.17g is accepted", number,
                       json_number_value(maximum));
}

static void check_array(const cse_validator *v, const json_t *schema, const json_t *value,
                        const char *pointer, json_t *errors)
{
    const json_t *maximum = json_object_get(schema, "maxItems");
    const json_t *items = json_object_get(schema, "items");
    if (maximum != NULL && (json_int_t)json_array_size(value) > json_integer_value(maximum)) {
        add_diagnostic(errors, pointer, "has %zu items; at most %lld are accepted",
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
            cse_validator_check(v, items, one, inner.data, errors);
        cse_text_clear(&inner);
    }
}

/* A member of an object that is checked. */
typedef struct member {
    const char *name;
    const json_t *value;
    const char *pointer;
} member;

/* One member of an object against its own schema, or against additionalProperties. */
static void check_member(const cse_validator *v, const json_t *schema, const member *m,
                         json_t *errors)
{
    const json_t *property = json_object_get(json_object_get(schema, "properties"), m->name);
    const json_t *others = json_object_get(schema, "additionalProperties");
    const json_t *names = json_object_get(schema, "propertyNames");
    if (names != NULL) {
        json_t *name = json_string(m->name);
        if (name == NULL || !cse_validator_check(v, names, name, m->pointer, errors)) {
            json_decref(name);
            return;
        }
        json_decref(name);
    }
    if (property != NULL)
        cse_validator_check(v, property, m->value, m->pointer, errors);
    else if (json_is_false(others))
        add_diagnostic(errors, m->pointer, "is not known here");
    else if (json_is_object(others))
        cse_validator_check(v, others, m->value, m->pointer, errors);
}

/* A name within a JSON pointer: RFC 6901, section 3. */
static void add_token(cse_text *pointer, const char *name)
{
    for (const char *c = name; *c != '\0'; c++)
        if (*c == '~' || *c == '/')
            cse_text_add(pointer, "%s", *c == '~' ? "~0" : "~1");
        else
            cse_text_add_bytes(pointer, c, 1);
}

static void check_object(const cse_validator *v, const json_t *schema, const json_t *value,
                         const char *pointer, json_t *errors)
{
    const json_t *maximum = json_object_get(schema, "maxProperties");
    if (maximum != NULL && (json_int_t)json_object_size(value) > json_integer_value(maximum)) {
        add_diagnostic(errors, pointer, "has %zu members; at most %lld are accepted",
                       json_object_size(value), (long long)json_integer_value(maximum));
        return;
    }
    size_t i;
    json_t *name;
    json_array_foreach(json_object_get(schema, "required"), i, name)
    {
        if (json_object_get(value, json_string_value(name)) == NULL)
            add_diagnostic(errors, pointer, "lacks the member \"%s\"", json_string_value(name));
    }
    void *at = json_object_iter((json_t *)(uintptr_t)value);
    for (; at != NULL; at = json_object_iter_next((json_t *)(uintptr_t)value, at)) {
        cse_text inner = { 0 };
        cse_text_add(&inner, "%s/", pointer);
        add_token(&inner, json_object_iter_key(at));
        const member m = { json_object_iter_key(at), json_object_iter_value(at), inner.data };
        check_member(v, schema, &m, errors);
        cse_text_clear(&inner);
    }
}

/* The forms of a schema differ by a member's word or by their type, so that none fits where another
 * does: the first that fits is enough. */
static void check_forms(const cse_validator *v, const json_t *forms, const json_t *value,
                        const char *pointer, json_t *errors)
{
    size_t i;
    json_t *one;
    bool fits = false;
    json_array_foreach(forms, i, one)
    {
        json_t *faults = json_array();
        fits = fits || cse_validator_check(v, one, value, pointer, faults);
        json_decref(faults);
    }
    if (!fits)
        add_diagnostic(errors, pointer, "has none of the accepted forms");
}

bool cse_validator_check(const cse_validator *v, const json_t *schema, const json_t *value,
                         const char *pointer, json_t *errors)
{
    size_t before = json_array_size(errors);
    schema = cse_validator_resolve(v, schema);
    if (json_object_get(schema, "oneOf") != NULL)
        check_forms(v, json_object_get(schema, "oneOf"), value, pointer, errors);
    const json_t *type = json_object_get(schema, "type");
    const json_t *accepted = json_object_get(schema, "enum");
    if (type != NULL && !check_type(type, value, pointer, errors))
        return false;
    if (accepted != NULL)
        check_enum(accepted, value, pointer, errors);
    if (json_is_string(value))
        check_string(v, schema, value, pointer, errors);
    else if (json_is_number(value))
        check_number(schema, value, pointer, errors);
    else if (json_is_array(value))
        check_array(v, schema, value, pointer, errors);
    else if (json_is_object(value))
        check_object(v, schema, value, pointer, errors);
    return json_array_size(errors) == before;
}
