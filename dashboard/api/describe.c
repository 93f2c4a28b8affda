/* Each route becomes a path of the document, and its schemas become components. */
#include "dashboard/api/describe.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "dashboard/api/problem.h"
#include "dashboard/api/schema.h"

/* The document and the parts of it that are filled. */
typedef struct description {
    json_t *document, *paths, *tags;
    json_t *schemas, *parameters, *responses;
} description;

/* ---- problems ---- */

static const struct {
    int status;
    const char *word, *doc;
    bool bare; /* sent by the HTTP library, without a body */
} problems[] = {
#define CSE_PROBLEM_ROW(name, status, word, title, doc) { status, word, doc, false },
    CSE_PROBLEM_TABLE(CSE_PROBLEM_ROW)
#undef CSE_PROBLEM_ROW
        { 414, "target-too-long",
          "Path and query are longer than the few kilobytes that a request's head may have; the "
          "connection is closed",
          true },
    { 431, "headers-too-large",
      "The headers are longer than the few kilobytes that a request's head may have; the "
      "connection is closed",
      true },
};

/* "not-found" or "page_token" as the name of a component: "NotFound", "PageToken". */
static void component_name(const char *words, char name[64])
{
    size_t n = 0;
    bool first = true;
    for (const char *c = words; *c != '\0' && n < 63; c++) {
        bool letter = isalnum((unsigned char)*c) != 0;
        if (letter)
            name[n++] = (char)(first ? toupper((unsigned char)*c) : *c);
        first = !letter;
    }
    name[n] = '\0';
}

static void add_problem_components(description *d)
{
    char name[64];
    for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++) {
        json_t *response = json_pack("{s:s}", "description", problems[i].doc);
        if (!problems[i].bare)
            json_object_set_new(response, "content",
                                json_pack("{s:{s:{s:s}}}", "application/problem+json", "schema",
                                          "$ref", "#/components/schemas/Problem"));
        component_name(problems[i].word, name);
        json_object_set_new(d->responses, name, response);
    }
}

/* `statuses` as in "404 503". */
static cse_status add_problems(json_t *responses, const char *statuses)
{
    for (const char *at = statuses; at != NULL && *at != '\0'; at += strspn(at, " ")) {
        char *end = NULL, code[8], name[64] = "";
        long status = strtol(at, &end, 10);
        for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++)
            if (problems[i].status == status)
                component_name(problems[i].word, name);
        if (name[0] == '\0')
            return cse_fail(CSE_INTERNAL, "openapi: no problem has the status %s", at);
        snprintf(code, sizeof code, "%ld", status);
        json_object_set_new(
            responses, code,
            json_pack("{s:o}", "$ref", json_sprintf("#/components/responses/%s", name)));
        at = end;
    }
    return CSE_OK;
}

/* At the statuses of the operation's problems its own form of them, besides the shared one. */
static void add_own_problems(const cse_operation *o, json_t *responses)
{
    for (const char *at = o->problems; at != NULL && *at != '\0'; at += strspn(at, " ")) {
        char *end = NULL, code[8];
        snprintf(code, sizeof code, "%ld", strtol(at, &end, 10));
        json_object_set_new(responses, code,
                            json_pack("{s:s, s:{s:{s:{s:s}}, s:{s:{s:o}}}}", "description",
                                      "The problem in the words of the interface, or as everywhere",
                                      "content", "application/problem+json", "schema", "$ref",
                                      "#/components/schemas/Problem", "application/json", "schema",
                                      "$ref",
                                      json_sprintf("#/components/schemas/%s", o->own_problems)));
        at = end;
    }
}

static cse_status add_all_problems(const cse_route *route, const cse_operation *o,
                                   json_t *responses)
{
    CSE_TRY(add_problems(responses, "400 403 414 429 431"));
    if (!o->open)
        CSE_TRY(add_problems(responses, "401"));
    if (o->body != NULL)
        CSE_TRY(add_problems(responses, "413 415 422"));
    if (strchr(route->path, '{') != NULL && strcmp(o->method, "PUT") != 0)
        CSE_TRY(add_problems(responses, "404"));
    CSE_TRY(add_problems(responses, o->problems));
    if (o->own_problems != NULL)
        add_own_problems(o, responses);
    return CSE_OK;
}

/* ---- parameters ---- */

static json_t *shared_parameter(const char *name)
{
    char component[64];
    component_name(name, component);
    return json_pack("{s:o}", "$ref", json_sprintf("#/components/parameters/%s", component));
}

/* A name in braces is in the path; a name with a capital is a header; else it is in the query. */
static const char *place_of(const char *path, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = strchr(path, '{'); at != NULL; at = strchr(at + 1, '{'))
        if (strncmp(at + 1, name, length) == 0 && at[1 + length] == '}')
            return "path";
    return isupper((unsigned char)name[0]) ? "header" : "query";
}

static cse_status add_shared_parameters(description *d)
{
    const char *text = cse_shared_parameters;
    json_t *parameter;
    char component[64];
    for (;;) {
        CSE_TRY(cse_schema_read_parameter(&text, &parameter));
        if (parameter == NULL)
            return CSE_OK;
        const char *name = json_string_value(json_object_get(parameter, "name"));
        json_object_set_new(parameter, "in",
                            json_string(*name == '{' ? "path" : place_of("", name)));
        component_name(name, component);
        if (*name == '{')
            json_object_set_new(parameter, "name", json_stringn(name + 1, strlen(name) - 2));
        json_object_set_new(d->parameters, component, parameter);
    }
}

/* Those in braces that the operation does not describe itself. */
static void add_path_parameters(const char *path, json_t *list)
{
    for (const char *at = strchr(path, '{'); at != NULL; at = strchr(at + 1, '{')) {
        char name[64];
        size_t i;
        json_t *one;
        bool described = false;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at + 1, "}"), at + 1);
        json_array_foreach(list, i, one)
        {
            const char *known = json_string_value(json_object_get(one, "name"));
            described = described || (known != NULL && strcmp(known, name) == 0);
        }
        if (!described)
            json_array_append_new(list, shared_parameter(name));
    }
}

static cse_status add_parameters(const cse_route *route, const cse_operation *o, json_t *list)
{
    const char *text = o->parameters != NULL ? o->parameters : "";
    json_t *parameter;
    for (;;) {
        CSE_TRY(cse_schema_read_parameter(&text, &parameter));
        if (parameter == NULL)
            break;
        const char *name = json_string_value(json_object_get(parameter, "name"));
        if (json_object_get(parameter, "schema") == NULL) {
            json_array_append_new(list, shared_parameter(name));
            json_decref(parameter);
        } else {
            json_object_set_new(parameter, "in", json_string(place_of(route->path, name)));
            json_array_append_new(list, parameter);
        }
    }
    add_path_parameters(route->path, list);
    return CSE_OK;
}

/* ---- bodies and answers ---- */

/* One line of a body or an answer: "[MEDIA TYPE] [TYPE] [+HEADER ...] [# DESCRIPTION]". */
typedef struct content {
    char media[64];
    json_t *schema; /* NULL: no body */
    json_t *headers;
    char *doc;
} content;

static void clear_content(content *c)
{
    json_decref(c->schema);
    json_decref(c->headers);
    free(c->doc);
}

static cse_status read_content(const char **text, content *c)
{
    const char *at = *text, *end = at + strcspn(at, "\n"),
               *slash = memchr(at, '/', strcspn(at, " \n"));
    *c = (content){ .media = "application/json", .headers = json_object() };
    if (slash != NULL) {
        snprintf(c->media, sizeof c->media, "%.*s", (int)strcspn(at, " \n"), at);
        at += strcspn(at, " \n");
    }
    at += strspn(at, " ");
    if (*at != '#' && *at != '+' && at < end && (c->schema = cse_schema_read_type(&at)) == NULL)
        return cse_fail(CSE_INTERNAL, "openapi: no type: %.*s", (int)(end - *text), *text);
    for (at += strspn(at, " "); *at == '+'; at += strspn(at, " ")) {
        char name[32];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at + 1, " \n"), at + 1);
        json_object_set_new(c->headers, name, json_pack("{s:{s:s}}", "schema", "type", "string"));
        at += strcspn(at, " \n");
    }
    if (*at == '#')
        c->doc = strndup(at + 2, (size_t)(end - at) - 2);
    *text = end + (*end == '\n');
    return CSE_OK;
}

static cse_status add_body(const cse_operation *o, json_t *operation)
{
    json_t *types = json_object();
    const char *text = o->body;
    json_object_set_new(operation, "requestBody",
                        json_pack("{s:b, s:o}", "required", !o->body_optional, "content", types));
    while (*text != '\0') {
        content c;
        cse_status status = read_content(&text, &c);
        if (c.doc != NULL)
            json_object_set_new(c.schema, "description", json_string(c.doc));
        if (status == CSE_OK)
            json_object_set_new(types, c.media, json_pack("{s:O}", "schema", c.schema));
        clear_content(&c);
        CSE_TRY(status);
    }
    return CSE_OK;
}

/* The first line of a status describes the answer, any other its further form. */
static void add_reply(json_t *responses, const char *status, const content *c)
{
    json_t *response = json_object_get(responses, status);
    bool first = response == NULL;
    if (first) {
        response = json_pack("{s:s}", "description", c->doc != NULL ? c->doc : "OK");
        json_object_set_new(responses, status, response);
    } else if (c->doc != NULL) {
        json_object_set_new(c->schema, "description", json_string(c->doc));
    }
    if (json_object_size(c->headers) > 0)
        json_object_set(response, "headers", c->headers);
    if (c->schema == NULL)
        return;
    if (json_object_get(response, "content") == NULL)
        json_object_set_new(response, "content", json_object());
    json_object_set_new(json_object_get(response, "content"), c->media,
                        json_pack("{s:O}", "schema", c->schema));
}

/* Answers to GET carry an ETag, but for streams. */
static void add_tag(json_t *responses, json_t *parameters)
{
    json_t *ok = json_object_get(responses, "200"), *types = json_object_get(ok, "content");
    if (json_object_get(types, "text/event-stream") != NULL && json_object_size(types) == 1)
        return;
    json_object_set_new(ok, "headers",
                        json_pack("{s:{s:{s:s}}}", "ETag", "schema", "type", "string"));
    json_object_set_new(responses, "304",
                        json_pack("{s:s}", "description", "Not changed since If-None-Match"));
    json_array_append_new(parameters, shared_parameter("If-None-Match"));
}

static cse_status add_replies(const cse_operation *o, json_t *responses)
{
    for (const char *text = o->replies; *text != '\0';) {
        char status[4];
        content c;
        snprintf(status, sizeof status, "%s", text);
        text += strspn(text, "0123456789");
        text += strspn(text, " ");
        cse_status read = read_content(&text, &c);
        if (read == CSE_OK)
            add_reply(responses, status, &c);
        clear_content(&c);
        CSE_TRY(read);
    }
    return CSE_OK;
}

/* ---- operations ---- */

static cse_status fill_operation(const cse_route *route, const cse_operation *o, json_t *operation)
{
    json_t *parameters = json_array(), *responses = json_object();
    json_object_set_new(operation, "operationId", json_string(o->id));
    json_object_set_new(operation, "summary", json_string(o->summary));
    json_object_set_new(operation, "tags", json_pack("[s]", route->tag));
    json_object_set_new(operation, "parameters", parameters);
    json_object_set_new(operation, "responses", responses);
    if (o->doc != NULL)
        json_object_set_new(operation, "description", json_string(o->doc));
    if (o->open)
        json_object_set_new(operation, "security", json_array());
    CSE_TRY(add_parameters(route, o, parameters));
    if (o->body != NULL)
        CSE_TRY(add_body(o, operation));
    CSE_TRY(add_replies(o, responses));
    if (strcmp(o->method, "GET") == 0)
        add_tag(responses, parameters);
    return add_all_problems(route, o, responses);
}

static bool has_tag(const description *d, const char *name)
{
    size_t i;
    json_t *one;
    json_array_foreach(d->tags, i, one)
    {
        if (strcmp(json_string_value(json_object_get(one, "name")), name) == 0)
            return true;
    }
    return false;
}

static cse_status add_route(description *d, const cse_route *route)
{
    json_t *item = json_object();
    if (json_object_get(d->paths, route->path) != NULL)
        return cse_fail(CSE_INTERNAL, "openapi: two routes have the path %s", route->path);
    json_object_set_new(d->paths, route->path, item);
    if (!has_tag(d, route->tag))
        json_array_append_new(d->tags, json_pack("{s:s}", "name", route->tag));
    if (route->schemas != NULL)
        CSE_TRY(cse_schemas_read(route->schemas, d->schemas));
    for (const cse_operation *o = route->operations; o->id != NULL; o++) {
        char method[8] = "";
        for (size_t i = 0; o->method[i] != '\0' && i < sizeof method - 1; i++)
            method[i] = (char)tolower((unsigned char)o->method[i]);
        json_t *operation = json_object();
        json_object_set_new(item, method, operation);
        CSE_TRY(fill_operation(route, o, operation));
    }
    return CSE_OK;
}

static json_t *head(void)
{
    return json_pack(
        "{s:s, s:{s:s, s:s, s:s, s:{s:s, s:s}, s:s}, s:[{s:s}], s:[{s:[]}, {s:[]}, {}]}", "openapi",
        "3.1.0", "info", "title", "csengine", "version", "1.0.0", "summary",
        "Run, watch and steer training over HTTP", "license", "name", "MIT", "identifier", "MIT",
        "description",
        "Errors are RFC 9457 problems. GET answers carry an ETag. Lists take limit and "
        "page_token. Actions are idempotent: repeated, they give 202 and the present state. Names "
        "of members end in their unit. Numbers that JSON has no word for are null. Times are Unix "
        "milliseconds.",
        "servers", "url", "/", "security", "bearer", "cookie");
}

cse_status cse_describe(const cse_route *const *routes, json_t **document)
{
    json_t *schemes = json_pack(
        "{s:{s:s, s:s, s:s}, s:{s:s, s:s, s:s, s:s}}", "bearer", "type", "http", "scheme", "bearer",
        "description",
        "The line of the file that server.json names as token_file. On the unix socket "
        "that it names as socket, the server's own user needs none.",
        "cookie", "type", "apiKey", "in", "cookie", "name", "csengine_session", "description",
        "From POST /session or a page's address with ?token=TOKEN; over TCP \"_PORT\" is "
        "added to the name.");
    description d = { .document = head(),
                      .paths = json_object(),
                      .tags = json_array(),
                      .schemas = json_object(),
                      .parameters = json_object(),
                      .responses = json_object() };
    json_object_set_new(d.document, "tags", d.tags);
    json_object_set_new(d.document, "paths", d.paths);
    json_object_set_new(d.document, "components",
                        json_pack("{s:o, s:o, s:o, s:o}", "securitySchemes", schemes, "parameters",
                                  d.parameters, "responses", d.responses, "schemas", d.schemas));
    add_problem_components(&d);
    cse_status status = add_shared_parameters(&d);
    if (status == CSE_OK)
        status = cse_schemas_read(cse_shared_schemas, d.schemas);
    for (; status == CSE_OK && *routes != NULL; routes++)
        status = add_route(&d, *routes);
    if (status != CSE_OK) {
        json_decref(d.document);
        d.document = NULL;
    }
    *document = d.document;
    return status;
}
