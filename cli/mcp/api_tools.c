/* Schemas refer to one another by paths of the description; a tool carries those that its own
 * refers to, under "$defs". */
#include "cli/mcp/api_tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client/client.h"
#include "engine/base/arena.h"
#include "engine/base/error.h"

#define OF_SCHEMAS "#/components/schemas/"
#define OF_DEFINITIONS "#/$defs/"

enum { MOST_TOOLS = 512, MOST_NUMBER = 32 };

typedef struct api_tool {
    const char *method, *path;
    json_t *parameters; /* without those of headers; references are replaced */
    const char *body_type;
    bool has_body, needs_body, takes_key, takes_match;
} api_tool;

struct cse_api_tools {
    json_t *openapi, *listed; /* of the same order as `tools` */
    api_tool tools[MOST_TOOLS];
    int count;
};

/* ---- schemas ---- */

static json_t *member(const json_t *object, const char *name)
{
    return json_object_get((json_t *)(uintptr_t)object, name);
}

/* The object that a reference of a parameter names, or the parameter itself. */
static json_t *resolved(const json_t *openapi, json_t *one)
{
    static const char mark[] = "#/components/parameters/";
    const char *reference = json_string_value(member(one, "$ref"));
    if (reference == NULL || strncmp(reference, mark, strlen(mark)) != 0)
        return one;
    return member(member(member(openapi, "components"), "parameters"), reference + strlen(mark));
}

static json_t *own_schema(const json_t *openapi, const json_t *schema, json_t *definitions);

/* A reference to a schema of the description, which is added to the definitions. */
static json_t *own_reference(const json_t *openapi, const char *reference, json_t *definitions)
{
    const char *name = reference + strlen(OF_SCHEMAS);
    if (member(definitions, name) == NULL) {
        const json_t *schema = member(member(member(openapi, "components"), "schemas"), name);
        json_object_set_new(definitions, name, json_object()); /* it may refer to itself */
        json_object_set_new(definitions, name, own_schema(openapi, schema, definitions));
    }
    return json_sprintf(OF_DEFINITIONS "%s", name);
}

/* A copy whose references are to `definitions`. */
static json_t *own_schema(const json_t *openapi, const json_t *schema, json_t *definitions)
{
    const char *name;
    size_t i;
    json_t *value, *copy;
    if (json_is_array(schema)) {
        copy = json_array();
        json_array_foreach((json_t *)(uintptr_t)schema, i, value)
            json_array_append_new(copy, own_schema(openapi, value, definitions));
        return copy;
    }
    if (!json_is_object(schema))
        return schema != NULL ? json_deep_copy(schema) : json_object();
    copy = json_object();
    json_object_foreach((json_t *)(uintptr_t)schema, name, value)
    {
        const char *text = json_string_value(value);
        const bool refers = strcmp(name, "$ref") == 0 && text != NULL &&
                            strncmp(text, OF_SCHEMAS, strlen(OF_SCHEMAS)) == 0;
        json_object_set_new(copy, name,
                            refers ? own_reference(openapi, text, definitions)
                                   : own_schema(openapi, value, definitions));
    }
    return copy;
}

/* ---- operations ---- */

static bool is_in(const json_t *parameter, const char *place)
{
    const char *text = json_string_value(member(parameter, "in"));
    return text != NULL && strcmp(text, place) == 0;
}

/* Whether its good answer is JSON, or lines of it; `empty`: or nothing. */
static bool gives_json(const json_t *operation, bool empty)
{
    const char *status;
    json_t *answer;
    json_object_foreach(member(operation, "responses"), status, answer)
    {
        const json_t *content = member(answer, "content");
        if (status[0] == '2' && (member(content, "application/json") != NULL ||
                                 member(content, "application/x-ndjson") != NULL ||
                                 (empty && strcmp(status, "204") == 0)))
            return true;
    }
    return false;
}

static bool is_wanted(const char *path, const char *method, const json_t *operation, bool changes)
{
    const bool reads = strcmp(method, "get") == 0;
    /* Sessions are of browsers; the description is what the tools are made from. */
    if (strcmp(path, "/session") == 0 || strcmp(path, "/openapi.json") == 0)
        return false;
    return (reads || changes) && json_is_string(member(operation, "operationId")) &&
           gives_json(operation, !reads);
}

/* The type of a body, JSON where it may be. */
static const char *body_type_of(const json_t *operation)
{
    const char *type = NULL, *name;
    json_t *value, *content = member(member(operation, "requestBody"), "content");
    json_object_foreach(content, name, value) type = type == NULL ? name : type;
    return member(content, "application/json") != NULL ? "application/json" : type;
}

static void add_property(json_t *properties, const char *name, const json_t *described,
                         json_t *schema)
{
    const char *text = json_string_value(member(described, "description"));
    if (text != NULL && member(schema, "description") == NULL)
        json_object_set_new(schema, "description", json_string(text));
    json_object_set_new(properties, name, schema);
}

/* What the schema of the arguments is made of. */
typedef struct schema_parts {
    json_t *properties, *required, *definitions;
} schema_parts;

static void add_parameters(const json_t *openapi, const json_t *of, api_tool *tool,
                           const schema_parts *parts)
{
    size_t i;
    json_t *one;
    json_array_foreach(member(of, "parameters"), i, one)
    {
        json_t *parameter = resolved(openapi, one);
        const char *name = json_string_value(member(parameter, "name"));
        if (name != NULL && is_in(parameter, "header")) {
            tool->takes_key = tool->takes_key || strcmp(name, "Idempotency-Key") == 0;
            tool->takes_match = tool->takes_match || strcmp(name, "If-Match") == 0;
        }
        if (name == NULL || (!is_in(parameter, "path") && !is_in(parameter, "query")))
            continue;
        json_array_append(tool->parameters, parameter);
        add_property(parts->properties, name, parameter,
                     own_schema(openapi, member(parameter, "schema"), parts->definitions));
        if (is_in(parameter, "path") || json_is_true(member(parameter, "required")))
            json_array_append_new(parts->required, json_string(name));
    }
}

static json_t *input_schema(const json_t *openapi, const json_t *item, const json_t *operation,
                            api_tool *tool)
{
    const schema_parts parts = { json_object(), json_array(), json_object() };
    const json_t *body = member(operation, "requestBody");
    add_parameters(openapi, item, tool, &parts);
    add_parameters(openapi, operation, tool, &parts);
    if (body != NULL) {
        tool->has_body = true;
        tool->needs_body = json_is_true(member(body, "required"));
        tool->body_type = body_type_of(operation);
        const json_t *content = member(member(body, "content"), tool->body_type);
        add_property(parts.properties, "body", body,
                     own_schema(openapi, member(content, "schema"), parts.definitions));
        if (tool->needs_body)
            json_array_append_new(parts.required, json_string("body"));
    }
    json_t *schema = json_pack("{s:s, s:o, s:b}", "type", "object", "properties", parts.properties,
                               "additionalProperties", 0);
    if (json_array_size(parts.required) > 0)
        json_object_set(schema, "required", parts.required);
    if (json_object_size(parts.definitions) > 0)
        json_object_set(schema, "$defs", parts.definitions);
    json_decref(parts.required);
    json_decref(parts.definitions);
    return schema;
}

static json_t *description_of(const json_t *operation)
{
    const char *summary = json_string_value(member(operation, "summary"));
    const char *more = json_string_value(member(operation, "description"));
    return json_sprintf("%s%s%s", summary != NULL ? summary : "", more != NULL ? ". " : "",
                        more != NULL ? more : "");
}

static void add_tool(cse_api_tools *tools, const char *path, const char *method, const json_t *item,
                     const json_t *operation)
{
    static const char *const methods[] = { "get", "post", "put", "patch", "delete", NULL };
    static const char *const names[] = { "GET", "POST", "PUT", "PATCH", "DELETE" };
    int m = 0;
    while (methods[m] != NULL && strcmp(methods[m], method) != 0)
        m++;
    if (methods[m] == NULL || tools->count == MOST_TOOLS)
        return;
    api_tool *tool = &tools->tools[tools->count++];
    *tool = (api_tool){ .method = names[m], .path = path, .parameters = json_array() };
    json_t *schema = input_schema(tools->openapi, item, operation, tool);
    json_array_append_new(tools->listed,
                          json_pack("{s:O, s:o, s:o, s:{s:b, s:b}}", "name",
                                    member(operation, "operationId"), "description",
                                    description_of(operation), "inputSchema", schema, "annotations",
                                    "readOnlyHint", m == 0, "destructiveHint",
                                    m != 0 && strcmp(method, "delete") == 0));
}

cse_status cse_api_tools_new(const json_t *openapi, bool changes, cse_api_tools **result)
{
    cse_api_tools *tools = cse_calloc(1, sizeof *tools);
    const char *path, *method;
    json_t *item, *operation;
    tools->openapi = json_deep_copy(openapi);
    tools->listed = json_array();
    json_object_foreach(member(tools->openapi, "paths"), path, item) json_object_foreach(
        item, method, operation) if (is_wanted(path, method, operation, changes))
        add_tool(tools, path, method, item, operation);
    *result = tools;
    if (tools->count > 0)
        return CSE_OK;
    cse_api_tools_destroy(result);
    return cse_fail(CSE_DATA, "the server's /openapi.json describes no operation");
}

void cse_api_tools_destroy(cse_api_tools **tools)
{
    cse_api_tools *old = *tools;
    *tools = NULL;
    if (old == NULL)
        return;
    for (int t = 0; t < old->count; t++)
        json_decref(old->tools[t].parameters);
    json_decref(old->listed);
    json_decref(old->openapi);
    free(old);
}

json_t *cse_api_tools_list_view(const cse_api_tools *tools)
{
    return tools->listed;
}

/* ---- calls ---- */

static const char *name_of(const cse_api_tools *tools, int t)
{
    return json_string_value(member(json_array_get(tools->listed, (size_t)t), "name"));
}

/* A string, number or truth value as it stands in a path or query; NULL: it is none of them. */
static const char *text_of(const json_t *value, char number[MOST_NUMBER])
{
    if (json_is_string(value))
        return json_string_value(value);
    if (json_is_boolean(value))
        return json_is_true(value) ? "true" : "false";
    if (json_is_integer(value))
        snprintf(number, MOST_NUMBER, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        snprintf(number, MOST_NUMBER, "%.17g", json_real_value(value));
    return json_is_number(value) ? number : NULL;
}

static cse_status unfit(const char *tool, const char *name)
{
    return cse_fail(CSE_USAGE,
                    "%s: the argument %s is to be a text, a number, true or false, or, where the "
                    "schema has an array, a list of these",
                    tool, name);
}

/* "?name=value" or "&name=value"; elements of a list are parted by commas, or repeat the name. */
static cse_status add_query(const char *tool, const json_t *parameter, const json_t *value,
                            bool *first, cse_text *path)
{
    const char *name = json_string_value(member(parameter, "name"));
    const bool joined = json_is_false(member(parameter, "explode"));
    const size_t count = json_is_array(value) ? json_array_size(value) : 1;
    for (size_t i = 0; i < count; i++) {
        char number[MOST_NUMBER];
        const char *text = text_of(json_is_array(value) ? json_array_get(value, i) : value, number);
        if (text == NULL)
            return unfit(tool, name);
        if (joined && i > 0)
            cse_text_add(path, ",");
        else
            cse_text_add(path, "%c%s=", *first ? '?' : '&', name);
        *first = false;
        cse_url_encode(path, text);
    }
    return CSE_OK;
}

static cse_status add_path(const char *name, const api_tool *tool, const json_t *arguments,
                           cse_text *path)
{
    char word[128], number[MOST_NUMBER];
    for (const char *at = tool->path; *at != '\0';) {
        const size_t plain = strcspn(at, "{");
        cse_text_add_bytes(path, at, plain);
        at += plain;
        if (*at == '\0')
            break;
        const size_t length = strcspn(++at, "}");
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        const char *text = text_of(member(arguments, word), number);
        /* A path of other parts than the operation's would be another operation. */
        if (text == NULL || text[0] == '\0' || strcmp(text, ".") == 0 || strcmp(text, "..") == 0)
            return unfit(name, word);
        cse_url_encode(path, text);
        at += length + 1;
    }
    return CSE_OK;
}

static const json_t *parameter_of(const api_tool *tool, const char *name)
{
    size_t i;
    json_t *one;
    json_array_foreach(tool->parameters, i, one) if (strcmp(json_string_value(member(one, "name")),
                                                            name) == 0) return one;
    return NULL;
}

/* Each argument is one that the tool has, and none that it needs is missing. */
static cse_status check_names(const json_t *listed, const api_tool *tool, const json_t *arguments)
{
    const char *tool_name = json_string_value(member(listed, "name")), *name;
    json_t *value;
    size_t i;
    json_object_foreach((json_t *)(uintptr_t)arguments, name, value)
    {
        if (parameter_of(tool, name) != NULL || (tool->has_body && strcmp(name, "body") == 0))
            continue;
        cse_text accepted = { 0 };
        const char *one;
        json_t *schema;
        json_object_foreach(member(member(listed, "inputSchema"), "properties"), one, schema)
            cse_text_add(&accepted, "%s%s", accepted.size > 0 ? ", " : "", one);
        const cse_status status =
            cse_fail(CSE_USAGE, "%s: there is no argument %.100s; accepted: %s", tool_name, name,
                     accepted.size > 0 ? accepted.data : "none");
        cse_text_clear(&accepted);
        return status;
    }
    json_array_foreach(member(member(listed, "inputSchema"), "required"), i,
                       value) if (member(arguments, json_string_value(value)) ==
                                  NULL) return cse_fail(CSE_USAGE, "%s: the argument %s is missing",
                                                        tool_name, json_string_value(value));
    return CSE_OK;
}

cse_status cse_api_tools_call(const cse_api_tools *tools, const char *name, const json_t *arguments,
                              cse_api_call *call)
{
    int t = 0;
    *call = (cse_api_call){ .method = NULL };
    while (t < tools->count && strcmp(name_of(tools, t), name) != 0)
        t++;
    if (t == tools->count)
        return cse_fail(CSE_NO_INPUT,
                        "there is no tool %.100s; tools/list has those that there are", name);
    const api_tool *tool = &tools->tools[t];
    CSE_TRY(check_names(json_array_get(tools->listed, (size_t)t), tool, arguments));
    call->method = tool->method;
    call->body = tool->has_body ? member(arguments, "body") : NULL;
    call->body_type = tool->body_type;
    call->takes_key = tool->takes_key;
    call->takes_match = tool->takes_match;
    cse_status status = add_path(name, tool, arguments, &call->path);
    bool first = true;
    size_t i;
    json_t *parameter;
    json_array_foreach(tool->parameters, i, parameter)
    {
        const json_t *value = member(arguments, json_string_value(member(parameter, "name")));
        if (status == CSE_OK && value != NULL && !json_is_null(value) && is_in(parameter, "query"))
            status = add_query(name, parameter, value, &first, &call->path);
    }
    if (status != CSE_OK)
        cse_text_clear(&call->path);
    return status;
}
