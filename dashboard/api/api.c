/* The routes by path and method, and the parameters of a request. */
#include "dashboard/api/api.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dashboard/api/describe.h"
#include "engine/base/arena.h"
#include "engine/base/registry.h"

struct cse_api {
    const cse_route *const *routes;
    cse_validator *validator;
};

cse_status cse_api_new(const cse_route *const *routes, cse_api **api)
{
    json_t *document = NULL;
    cse_api *a = cse_calloc(1, sizeof *a);
    a->routes = routes;
    cse_status status = cse_describe(routes, &document);
    if (status == CSE_OK)
        status = cse_validator_new(document, &a->validator);
    if (status != CSE_OK)
        cse_api_destroy(&a);
    *api = a;
    return status;
}

void cse_api_destroy(cse_api **api)
{
    if (*api == NULL)
        return;
    cse_validator_destroy(&(*api)->validator);
    free(*api);
    *api = NULL;
}

const cse_validator *cse_api_validator_view(const cse_api *api)
{
    return api->validator;
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

/* The operation's place in the description. */
static const json_t *find_described(const cse_api *api, const cse_route *route, const char *id)
{
    json_t *paths = json_object_get(cse_validator_document_view(api->validator), "paths");
    json_t *item = json_object_get(paths, route->path), *one;
    const char *method;
    json_object_foreach(item, method, one)
    {
        if (strcmp(json_string_value(json_object_get(one, "operationId")), id) == 0)
            return one;
    }
    return NULL;
}

bool cse_api_find(const cse_api *api, const char *method, const char *path, cse_api_match *match)
{
    assert(*path == '/');
    *match = (cse_api_match){ .path_values = json_object() };
    for (const cse_route *const *route = api->routes; *route != NULL; route++) {
        json_object_clear(match->path_values);
        if (!match_path((*route)->path, path, match->path_values))
            continue;
        match->route = *route;
        for (const cse_operation *o = (*route)->operations; o->id != NULL; o++)
            if (strcmp(o->method, method) == 0)
                match->operation = o;
        if (match->operation != NULL)
            match->described = find_described(api, *route, match->operation->id);
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

void cse_api_methods(const cse_route *route, cse_text *text)
{
    for (const cse_operation *o = route->operations; o->id != NULL; o++)
        cse_text_add(text, "%s%s%s", text->size > 0 ? ", " : "", o->method,
                     strcmp(o->method, "GET") == 0 ? ", HEAD" : "");
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

/* An error of a parameter; `pointer` leads into its value. Takes `message` over. */
static json_t *add_error(json_t *errors, const char *name, const char *pointer, json_t *message)
{
    json_t *error = json_pack("{s:s, s:s, s:o}", "parameter", name, "pointer", pointer, "message",
                              message != NULL ? message : json_string("is wrong"));
    json_array_append_new(errors, error);
    return error;
}

/* Where the diagnostics and values of one parameter go. */
typedef struct parameter_check {
    const cse_validator *validator;
    const char *name;
    const json_t *schema; /* resolved */
    bool list, split_at_commas;
    json_t *values, *errors;
} parameter_check;

static void add_value(parameter_check *c, const char *text)
{
    const json_t *schema = c->schema;
    if (c->list)
        schema = cse_validator_resolve(c->validator, json_object_get(schema, "items"));
    json_t *value = convert(text, schema);
    if (value == NULL) {
        const char *type = json_string_value(json_object_get(schema, "type"));
        add_error(c->errors, c->name, "", json_sprintf("is no %s", type));
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

static void check_value(parameter_check *c, const json_t *value)
{
    size_t i = json_array_size(c->errors);
    cse_validator_check(c->validator, c->schema, value, "", c->errors);
    for (; i < json_array_size(c->errors); i++)
        json_object_set_new(json_array_get(c->errors, i), "parameter", json_string(c->name));
}

static void check_parameter(const cse_api_match *match, const cse_api_given *given,
                            const json_t *parameter, parameter_check *c)
{
    const char *where = json_string_value(json_object_get(parameter, "in"));
    c->name = json_string_value(json_object_get(parameter, "name"));
    c->schema = cse_validator_resolve(c->validator, json_object_get(parameter, "schema"));
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
        add_error(c->errors, c->name, "", json_string("occurs more than once in the query"));
    const json_t *value = json_object_get(c->values, c->name);
    json_t *fallback = json_object_get(c->schema, "default");
    if (value != NULL)
        check_value(c, value);
    else if (fallback != NULL)
        json_object_set_new(c->values, c->name, json_deep_copy(fallback));
    else if (strcmp(where, "query") == 0 && json_is_true(json_object_get(parameter, "required")))
        add_error(c->errors, c->name, "", json_string("is missing from the query"));
}

static void report_unknown(const cse_validator *validator, const json_t *parameters,
                           const char *name, json_t *errors)
{
    const char *names[32];
    int count = 0;
    size_t i;
    json_t *one;
    json_array_foreach(parameters, i, one)
    {
        const json_t *parameter = cse_validator_resolve(validator, one);
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
    json_t *shown = json_string(name); /* NULL where it is no UTF-8 */
    json_t *error =
        add_error(errors, shown != NULL ? name : "?", "", json_string("is not known here"));
    json_decref(shown);
    if (near != NULL)
        json_object_set_new(error, "hint", json_sprintf("did you mean %s?", near));
}

bool cse_api_check_parameters(const cse_api *api, const cse_api_match *match,
                              const cse_api_given *given, json_t *values, json_t *errors)
{
    const json_t *parameters = json_object_get(match->described, "parameters");
    for (int i = 0; i < given->query_count; i++)
        report_unknown(api->validator, parameters, given->query[i].name, errors);
    size_t i;
    json_t *one;
    json_array_foreach(parameters, i, one)
    {
        parameter_check check = { .validator = api->validator, .values = values, .errors = errors };
        check_parameter(match, given, cse_validator_resolve(api->validator, one), &check);
    }
    return json_array_size(errors) == 0;
}

/* ---- bodies ---- */

const json_t *cse_api_body_schema(const cse_api_match *match, const char *media_type)
{
    const json_t *content =
        json_object_get(json_object_get(match->described, "requestBody"), "content");
    return json_object_get(json_object_get(content, media_type), "schema");
}
