/* The description in memory: paths, parameters, patterns. */
#include "dashboard/api.h"

#include <errno.h>
#include <regex.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dashboard/api_internal.h"
#include "engine/base/arena.h"
#include "engine/base/registry.h"

typedef struct pattern {
    const char *text; /* view into the document */
    regex_t compiled;
} pattern;

struct cse_api {
    json_t *document;
    pattern *patterns;
    int pattern_count, pattern_capacity;
};

static const char *const methods[] = { "get", "put", "post", "delete", "patch" };

/* ---- loading ---- */

/* Words of JSON Schema that may stand in a schema: those that are checked, and those that are only
 * for people. */
static const char known_words[] =
    " $ref type enum minimum maximum minLength maxLength pattern items maxItems properties "
    "required additionalProperties propertyNames maxProperties description default examples "
    "example format ";

static bool is_known_word(const char *word)
{
    char padded[48];
    snprintf(padded, sizeof padded, " %s ", word);
    return strstr(known_words, padded) != NULL;
}

static cse_status add_pattern(cse_api *api, const char *text)
{
    CSE_GROW(api->patterns, api->pattern_count, api->pattern_capacity);
    pattern *p = &api->patterns[api->pattern_count];
    p->text = text;
    if (regcomp(&p->compiled, text, REG_EXTENDED | REG_NOSUB) != 0)
        return cse_fail(CSE_INTERNAL, "openapi: the pattern %s is no regular expression", text);
    api->pattern_count++;
    return CSE_OK;
}

static cse_status scan_schema(cse_api *api, const json_t *schema);

static cse_status scan_members(cse_api *api, const json_t *object)
{
    void *at = json_object_iter((json_t *)(uintptr_t)object);
    for (; at != NULL; at = json_object_iter_next((json_t *)(uintptr_t)object, at))
        CSE_TRY(scan_schema(api, json_object_iter_value(at)));
    return CSE_OK;
}

static cse_status scan_schema(cse_api *api, const json_t *schema)
{
    if (!json_is_object(schema))
        return CSE_OK;
    void *at = json_object_iter((json_t *)(uintptr_t)schema);
    for (; at != NULL; at = json_object_iter_next((json_t *)(uintptr_t)schema, at)) {
        const char *word = json_object_iter_key(at);
        const json_t *value = json_object_iter_value(at);
        if (!is_known_word(word))
            return cse_fail(CSE_INTERNAL, "openapi: the word \"%s\" of a schema is not understood",
                            word);
        if (strcmp(word, "pattern") == 0)
            CSE_TRY(add_pattern(api, json_string_value(value)));
        else if (strcmp(word, "properties") == 0)
            CSE_TRY(scan_members(api, value));
        else if (strcmp(word, "items") == 0 || strcmp(word, "additionalProperties") == 0 ||
                 strcmp(word, "propertyNames") == 0)
            CSE_TRY(scan_schema(api, value));
        else if (strcmp(word, "$ref") == 0 && cse_api_resolve(api, schema) == NULL)
            return cse_fail(CSE_INTERNAL, "openapi: %s leads nowhere", json_string_value(value));
    }
    return CSE_OK;
}

/* Every schema below: of components, parameters, bodies, answers. */
static cse_status scan(cse_api *api, const json_t *node)
{
    size_t i;
    json_t *one;
    json_array_foreach(node, i, one) CSE_TRY(scan(api, one));
    if (!json_is_object(node))
        return CSE_OK;
    void *at = json_object_iter((json_t *)(uintptr_t)node);
    for (; at != NULL; at = json_object_iter_next((json_t *)(uintptr_t)node, at)) {
        const char *key = json_object_iter_key(at);
        const json_t *value = json_object_iter_value(at);
        if (strcmp(key, "schema") == 0)
            CSE_TRY(scan_schema(api, value));
        else if (strcmp(key, "schemas") == 0)
            CSE_TRY(scan_members(api, value));
        else
            CSE_TRY(scan(api, value));
    }
    return CSE_OK;
}

cse_status cse_api_load(const char *text, cse_api **api)
{
    json_error_t error;
    cse_api *a = cse_calloc(1, sizeof *a);
    a->document = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    cse_status status = CSE_OK;
    if (a->document == NULL)
        status = cse_fail(CSE_INTERNAL, "openapi: line %d: %s", error.line, error.text);
    else
        status = scan(a, a->document);
    if (status != CSE_OK)
        cse_api_destroy(&a);
    *api = a;
    return status;
}

void cse_api_destroy(cse_api **api)
{
    if (*api == NULL)
        return;
    for (int i = 0; i < (*api)->pattern_count; i++)
        regfree(&(*api)->patterns[i].compiled);
    free((*api)->patterns);
    json_decref((*api)->document);
    free(*api);
    *api = NULL;
}

const json_t *cse_api_document_view(const cse_api *api)
{
    return api->document;
}

bool cse_api_pattern_matches(const cse_api *api, const char *text, const char *value)
{
    for (int i = 0; i < api->pattern_count; i++)
        if (strcmp(api->patterns[i].text, text) == 0)
            return regexec(&api->patterns[i].compiled, value, 0, NULL, 0) == 0;
    return false;
}

const json_t *cse_api_resolve(const cse_api *api, const json_t *schema)
{
    const char *reference = json_string_value(json_object_get(schema, "$ref"));
    if (reference == NULL)
        return schema;
    const json_t *at = api->document;
    char *copy = cse_strdup(reference), *rest = copy, *word;
    for (word = strsep(&rest, "/"); word != NULL && at != NULL; word = strsep(&rest, "/"))
        if (strcmp(word, "#") != 0)
            at = json_object_get(at, word);
    free(copy);
    return at;
}

/* ---- paths ---- */

/* Whether `path` has the form of `template`; braces take one segment, kept in `values`. */
static bool match_path(const char *template, const char *path, json_t *values)
{
    while (*template != '\0' && *path != '\0') {
        if (*template != '{') {
            if (*template ++ != *path++)
                return false;
            continue;
        }
        const char *close = strchr(template, '}');
        size_t length = strcspn(path, "/");
        if (close == NULL || length == 0)
            return false;
        char name[32];
        snprintf(name, sizeof name, "%.*s", (int)(close - template - 1), template + 1);
        if (json_object_set_new(values, name, json_stringn(path, length)) != 0)
            return false;
        template = close + 1;
        path += length;
    }
    return *template == '\0' && *path == '\0';
}

bool cse_api_find(const cse_api *api, const char *method, const char *path, cse_api_match *match)
{
    *match = (cse_api_match){ .path_values = json_object() };
    char lower[16];
    size_t n = 0;
    for (; method[n] != '\0' && n + 1 < sizeof lower; n++)
        lower[n] = (char)(method[n] >= 'A' && method[n] <= 'Z' ? method[n] + 32 : method[n]);
    lower[n] = '\0';
    json_t *paths = json_object_get(api->document, "paths");
    for (void *at = json_object_iter(paths); at != NULL; at = json_object_iter_next(paths, at)) {
        json_object_clear(match->path_values);
        if (!match_path(json_object_iter_key(at), path, match->path_values))
            continue;
        match->path = json_object_iter_key(at);
        match->path_item = json_object_iter_value(at);
        match->operation = json_object_get(match->path_item, lower);
        match->operation_id = json_string_value(json_object_get(match->operation, "operationId"));
        return true;
    }
    cse_api_match_clear(match);
    return false;
}

void cse_api_match_clear(cse_api_match *match)
{
    json_decref(match->path_values);
    *match = (cse_api_match){ 0 };
}

void cse_api_methods(const json_t *path_item, cse_text *text)
{
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        if (json_object_get(path_item, methods[i]) == NULL)
            continue;
        if (text->size > 0)
            cse_text_add(text, ", ");
        for (const char *c = methods[i]; *c != '\0'; c++)
            cse_text_add(text, "%c", *c - 32);
        if (i == 0)
            cse_text_add(text, ", HEAD");
    }
}

/* ---- parameters ---- */

/* Text as a value of the schema's type; NULL when it is none. */
static json_t *convert(const char *text, const json_t *schema)
{
    const char *type = json_string_value(json_object_get(schema, "type"));
    if (type == NULL || strcmp(type, "string") == 0)
        return json_string(text);
    if (strcmp(type, "boolean") == 0)
        return strcmp(text, "true") == 0    ? json_true()
               : strcmp(text, "false") == 0 ? json_false()
                                            : NULL;
    char *end = NULL;
    errno = 0;
    if (strcmp(type, "integer") == 0) {
        long long value = strtoll(text, &end, 10);
        bool whole = end != text && *end == '\0' && errno == 0 && *text != ' ' && *text != '+';
        return whole ? json_integer(value) : NULL;
    }
    double value = strtod(text, &end);
    return end != text && *end == '\0' && *text != ' ' ? json_real(value) : NULL;
}

/* Where the diagnostics and values of one parameter go. */
typedef struct parameter_check {
    const cse_api *api;
    const char *name;
    const json_t *schema; /* resolved */
    bool list, split_at_commas;
    json_t *values, *errors;
} parameter_check;

static void add_value(parameter_check *c, const char *text)
{
    const json_t *schema = c->schema;
    if (c->list)
        schema = cse_api_resolve(c->api, json_object_get(schema, "items"));
    json_t *value = convert(text, schema);
    if (value == NULL) {
        const char *type = json_string_value(json_object_get(schema, "type"));
        json_t *message = json_sprintf("the parameter %s is no %s", c->name, type);
        json_array_append_new(c->errors, json_pack("{s:s, s:o}", "pointer", c->name, "message",
                                                   message != NULL ? message : json_null()));
        return;
    }
    if (!c->list) {
        json_object_set_new(c->values, c->name, value);
        return;
    }
    json_t *list = json_object_get(c->values, c->name);
    if (list == NULL) {
        list = json_array();
        json_object_set_new(c->values, c->name, list);
    }
    json_array_append_new(list, value);
}

static void take_value(parameter_check *c, const char *text)
{
    if (!c->split_at_commas) {
        add_value(c, text);
        return;
    }
    char *copy = cse_strdup(text), *rest = copy, *word;
    while ((word = strsep(&rest, ",")) != NULL)
        if (*word != '\0')
            add_value(c, word);
    free(copy);
}

static void check_parameter(const cse_api *api, const cse_api_match *match,
                            const cse_api_given *given, const json_t *parameter, parameter_check *c)
{
    const char *where = json_string_value(json_object_get(parameter, "in"));
    c->name = json_string_value(json_object_get(parameter, "name"));
    c->schema = cse_api_resolve(api, json_object_get(parameter, "schema"));
    const char *type = json_string_value(json_object_get(c->schema, "type"));
    c->list = type != NULL && strcmp(type, "array") == 0;
    c->split_at_commas = c->list && json_is_false(json_object_get(parameter, "explode"));
    int times = 0;
    if (strcmp(where, "path") == 0) {
        take_value(c, json_string_value(json_object_get(match->path_values, c->name)));
    } else if (strcmp(where, "header") == 0) {
        const char *value = given->header(given->self, c->name);
        if (value != NULL)
            take_value(c, value);
    } else {
        for (int i = 0; i < given->query_count; i++)
            if (strcmp(given->query[i].name, c->name) == 0 && (c->list || times++ == 0))
                take_value(c, given->query[i].value);
    }
    if (times > 1)
        json_array_append_new(c->errors,
                              json_pack("{s:s, s:s}", "pointer", c->name, "message",
                                        "the parameter stands more than once in the query"));
    const json_t *value = json_object_get(c->values, c->name);
    json_t *fallback = json_object_get(c->schema, "default");
    if (value != NULL)
        cse_api_check(api, c->schema, value, c->name, c->errors);
    else if (fallback != NULL)
        json_object_set_new(c->values, c->name, json_deep_copy(fallback));
    else if (strcmp(where, "query") == 0 && json_is_true(json_object_get(parameter, "required")))
        json_array_append_new(c->errors, json_pack("{s:s, s:s}", "pointer", c->name, "message",
                                                   "the parameter is missing from the query"));
}

static void report_unknown(const cse_api *api, const json_t *parameters, const char *name,
                           json_t *errors)
{
    const char *names[32];
    int count = 0;
    size_t i;
    json_t *one;
    json_array_foreach(parameters, i, one)
    {
        const json_t *parameter = cse_api_resolve(api, one);
        const char *known = json_string_value(json_object_get(parameter, "name"));
        if (strcmp(json_string_value(json_object_get(parameter, "in")), "query") != 0)
            continue;
        if (strcmp(known, name) == 0)
            return;
        if (count < 31)
            names[count++] = known;
    }
    names[count] = NULL;
    const char *near = cse_did_you_mean(name, names);
    json_t *error =
        json_pack("{s:s, s:s}", "pointer", name, "message", "the parameter is not known here");
    if (near != NULL)
        json_object_set_new(error, "hint", json_sprintf("did you mean %s?", near));
    json_array_append_new(errors, error);
}

bool cse_api_check_parameters(const cse_api *api, const cse_api_match *match,
                              const cse_api_given *given, json_t *values, json_t *errors)
{
    const json_t *parameters = json_object_get(match->operation, "parameters");
    for (int i = 0; i < given->query_count; i++)
        report_unknown(api, parameters, given->query[i].name, errors);
    size_t i;
    json_t *one;
    json_array_foreach(parameters, i, one)
    {
        parameter_check check = { .api = api, .values = values, .errors = errors };
        check_parameter(api, match, given, cse_api_resolve(api, one), &check);
    }
    return json_array_size(errors) == 0;
}

/* ---- bodies ---- */

bool cse_api_has_body(const cse_api_match *match)
{
    return json_object_get(match->operation, "requestBody") != NULL;
}

bool cse_api_body_required(const cse_api_match *match)
{
    return json_is_true(
        json_object_get(json_object_get(match->operation, "requestBody"), "required"));
}

const json_t *cse_api_body_schema(const cse_api_match *match, const char *media_type)
{
    const json_t *content =
        json_object_get(json_object_get(match->operation, "requestBody"), "content");
    return json_object_get(json_object_get(content, media_type), "schema");
}
