/* A recursive-descent parser of the notation, one line at a time. Errors are found when the
 * description is made: at the start of the server, in the build, and in its test. */
#include "dashboard/api/schema.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- types ---- */

/* The part of a union that was read so far. */
typedef struct choice {
    json_t *schema, *types, *words;
    json_t *references; /* {"$ref": ...} */
    bool comma;         /* a list that is split at commas */
} choice;

static json_t *read_union(const char **at, bool *comma);

static void skip_blanks(const char **at)
{
    *at += strspn(*at, " ");
}

static bool take(const char **at, char c)
{
    if (**at != c)
        return false;
    (*at)++;
    return true;
}

static void add_type(choice *c, const char *type)
{
    size_t i;
    json_t *one;
    json_array_foreach(c->types, i, one)
    {
        if (strcmp(json_string_value(one), type) == 0)
            return;
    }
    json_array_append_new(c->types, json_string(type));
}

/* 'word' or <enumeration>. */
static bool read_words(const char **at, choice *c)
{
    const char close = **at == '<' ? '>' : '\'', *begin = *at + 1;
    const char *end = strchr(begin, close);
    if (end == NULL)
        return false;
    add_type(c, "string");
    *at = end + 1;
    if (close == '\'') {
        json_array_append_new(c->words, json_stringn(begin, (size_t)(end - begin)));
        return true;
    }
    cse_word_list *list = cse_word_list_find(begin, (size_t)(end - begin));
    for (int i = 0; list != NULL && list(i) != NULL; i++)
        json_array_append_new(c->words, json_string(list(i)));
    return list != NULL;
}

static bool read_list(const char **at, choice *c)
{
    bool inner;
    (*at)++;
    c->comma = take(at, ',');
    json_t *items = read_union(at, &inner);
    json_object_set_new(c->schema, "items", items);
    add_type(c, "array");
    return items != NULL && take(at, ']');
}

static bool read_map(const char **at, choice *c)
{
    bool inner;
    (*at)++;
    json_t *values = read_union(at, &inner);
    if (values != NULL && take(at, ':')) {
        json_object_set_new(c->schema, "propertyNames", values);
        skip_blanks(at);
        values = read_union(at, &inner);
    }
    json_object_set_new(c->schema, "additionalProperties", values);
    add_type(c, "object");
    return values != NULL && take(at, '}');
}

static bool read_name(const char **at, choice *c)
{
    static const char *const plain[] = {
        "integer", "number", "string", "boolean", "null", "object"
    };
    char name[40];
    size_t length = strspn(*at, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
    if (length == 0 || length >= sizeof name)
        return false;
    snprintf(name, sizeof name, "%.*s", (int)length, *at);
    *at += length;
    if (isupper((unsigned char)name[0])) {
        json_array_append_new(
            c->references,
            json_pack("{s:o}", "$ref", json_sprintf("#/components/schemas/%s", name)));
        return true;
    }
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        if (strcmp(name, plain[i]) == 0) {
            add_type(c, name);
            return true;
        }
    if (strcmp(name, "time") == 0) {
        add_type(c, "integer");
        json_object_set_new(c->schema, "minimum", json_integer(0));
        json_object_set_new(c->schema, "description", json_string("Unix time in milliseconds"));
    } else if (strcmp(name, "binary") == 0) {
        add_type(c, "string");
        json_object_set_new(c->schema, "format", json_string("binary"));
    } else if (strcmp(name, "open") == 0) {
        add_type(c, "object");
        json_object_set_new(c->schema, "additionalProperties", json_true());
    }
    return strcmp(name, "any") == 0 || json_array_size(c->types) > 0;
}

static bool read_one(const char **at, choice *c)
{
    switch (**at) {
    case '\'':
    case '<':
        return read_words(at, c);
    case '[':
        return read_list(at, c);
    case '{':
        return read_map(at, c);
    default:
        return read_name(at, c);
    }
}

/* 1..20 of what the first type of the union counts. */
static void read_range(const char **at, const choice *c)
{
    static const char *const bounds[][3] = { { "string", "minLength", "maxLength" },
                                             { "array", "minItems", "maxItems" },
                                             { "object", "minProperties", "maxProperties" },
                                             { "", "minimum", "maximum" } };
    const char *first = json_string_value(json_array_get(c->types, 0));
    const char *low = *at, *dots = low + strspn(low, "0123456789");
    size_t row = 0;
    if (first == NULL || strncmp(dots, "..", 2) != 0)
        return;
    while (bounds[row][0][0] != '\0' && strcmp(bounds[row][0], first) != 0)
        row++;
    const char *high = dots + 2;
    *at = high + strspn(high, "0123456789");
    if (dots > low)
        json_object_set_new(c->schema, bounds[row][1], json_integer(strtoll(low, NULL, 10)));
    if (*at > high)
        json_object_set_new(c->schema, bounds[row][2], json_integer(strtoll(high, NULL, 10)));
}

/* The types and words of the union, as members of its schema. */
static void set_types(const choice *c)
{
    if (json_array_size(c->types) == 1)
        json_object_set(c->schema, "type", json_array_get(c->types, 0));
    else if (json_array_size(c->types) > 1)
        json_object_set(c->schema, "type", c->types);
    if (json_array_size(c->words) == 0)
        return;
    if (json_array_size(c->types) > 1) /* 'a'|null: the type alone does not allow it */
        json_array_append_new(c->words, json_null());
    json_object_set(c->schema, "enum", c->words);
}

/* One name is a reference; several, or one with a type beside it, are each a form of its own. */
static void set_references(choice *c)
{
    if (json_array_size(c->references) == 0)
        return;
    if (json_array_size(c->references) == 1 && json_object_size(c->schema) == 0) {
        json_object_update(c->schema, json_array_get(c->references, 0));
        return;
    }
    if (json_object_size(c->schema) > 0)
        json_array_append(c->references, c->schema);
    json_decref(c->schema);
    c->schema = json_pack("{s:O}", "oneOf", c->references);
}

/* The union's schema; NULL when the text is no type. */
static json_t *read_union(const char **at, bool *comma)
{
    choice c = { .schema = json_object(),
                 .types = json_array(),
                 .words = json_array(),
                 .references = json_array() };
    bool good = read_one(at, &c);
    while (good && take(at, '|'))
        good = read_one(at, &c);
    skip_blanks(at);
    if (json_array_size(c.types) > 0)
        read_range(at, &c);
    skip_blanks(at);
    set_types(&c);
    set_references(&c);
    json_decref(c.types);
    json_decref(c.words);
    json_decref(c.references);
    *comma = c.comma;
    if (good)
        return c.schema;
    json_decref(c.schema);
    return NULL;
}

json_t *cse_schema_read_type(const char **type)
{
    bool comma;
    return read_union(type, &comma);
}

/* ---- lines ---- */

typedef struct line {
    const char *begin; /* in the text, for messages */
    int indent;
    char names[128]; /* "a" or "a,b?,c" */
    bool comma;
    json_t *schema;      /* NULL: no type was given */
    const char *example; /* instead of all others */
    char *doc;
} line;

static cse_status refuse(const line *l)
{
    return cse_fail(CSE_INTERNAL, "openapi: this line does not follow the notation: %.*s",
                    (int)strcspn(l->begin, "\n"), l->begin);
}

/* What may follow a type: a regular expression, a default. */
static bool read_tail(const char **at, json_t *schema)
{
    const char *end = *at + strcspn(*at, "\n"), *doc = strstr(*at, "  #");
    if (**at == '#')
        return true;
    if (doc != NULL && doc < end)
        end = doc;
    while (end > *at && end[-1] == ' ')
        end--;
    if (take(at, '~')) {
        json_object_set_new(schema, "pattern", json_stringn(*at, (size_t)(end - *at)));
    } else if (take(at, '=')) {
        skip_blanks(at);
        const char *type = json_string_value(json_object_get(schema, "type"));
        json_t *value = type != NULL && strcmp(type, "string") == 0
                            ? json_stringn(*at, (size_t)(end - *at))
                            : json_loadb(*at, (size_t)(end - *at), JSON_DECODE_ANY, NULL);
        json_object_set_new(schema, "default", value);
    } else if (*at < end) {
        return false;
    }
    *at = end + strspn(end, " ");
    return true;
}

static cse_status read_line(const char **text, line *l)
{
    const char *at = *text + strspn(*text, " "), *end = at + strcspn(at, "\n");
    *l = (line){ .begin = at, .indent = (int)(at - *text) };
    *text = end + (*end == '\n');
    if (take(&at, '=')) {
        l->example = at;
        return CSE_OK;
    }
    size_t length = strcspn(at, " \n");
    if (length == 0 || length >= sizeof l->names)
        return refuse(l);
    memcpy(l->names, at, length);
    at += length;
    skip_blanks(&at);
    if (*at != '#' && at < end) {
        l->schema = read_union(&at, &l->comma);
        if (l->schema == NULL || !read_tail(&at, l->schema))
            return refuse(l);
    }
    if (take(&at, '#'))
        l->doc = strndup(at + strspn(at, " "), (size_t)(end - at) - strspn(at, " "));
    return at <= end ? CSE_OK : refuse(l);
}

static void clear_line(line *l)
{
    json_decref(l->schema);
    free(l->doc);
    *l = (line){ .schema = NULL };
}

static cse_status add_example(const line *l, json_t *owner, bool list)
{
    json_t *value = json_loadb(l->example, strcspn(l->example, "\n"), JSON_DECODE_ANY, NULL);
    if (value == NULL)
        return refuse(l);
    return json_object_set_new(owner, list ? "examples" : "example",
                               list ? json_pack("[o]", value) : value) == 0
               ? CSE_OK
               : refuse(l);
}

/* ---- objects ---- */

/* The object that lines below belong to: that of {"type": "array", "items": ...} is the item. */
static json_t *innermost(json_t *schema)
{
    while (json_object_get(schema, "items") != NULL)
        schema = json_object_get(schema, "items");
    return schema;
}

/* "open" was noted as additionalProperties: true, which is what their absence means. */
static void close_object(json_t *schema)
{
    json_t *object = innermost(schema), *others = json_object_get(object, "additionalProperties");
    if (json_is_true(others))
        json_object_del(object, "additionalProperties");
    else if (others == NULL && json_object_get(object, "properties") != NULL)
        json_object_set_new(object, "additionalProperties", json_false());
}

static int indent_of(const char *text)
{
    return (int)strspn(text, " ");
}

static cse_status read_block(const char **text, json_t *properties, json_t *required);

/* The lines below `l`, as members and examples of `schema`. */
static cse_status read_members(const char **text, const line *l, json_t *schema)
{
    cse_status status = CSE_OK;
    line example;
    json_t *members = json_object(), *needed = json_array();
    while (status == CSE_OK && **text != '\0' && indent_of(*text) > l->indent) {
        if ((*text)[indent_of(*text)] == '=') {
            read_line(text, &example);
            status = add_example(&example, schema, true);
        } else {
            status = read_block(text, members, needed);
        }
    }
    if (json_object_size(members) > 0)
        json_object_set(innermost(schema), "properties", members);
    if (json_array_size(needed) > 0)
        json_object_set(innermost(schema), "required", needed);
    close_object(schema);
    json_decref(members);
    json_decref(needed);
    return status;
}

/* Each name of the line, with the schema. */
static cse_status add_names(line *l, json_t *schema, json_t *properties, json_t *required)
{
    char *rest = l->names, *name;
    while ((name = strsep(&rest, ",")) != NULL) {
        size_t length = strlen(name);
        bool optional = length > 0 && name[length - 1] == '?';
        if (optional)
            name[length - 1] = '\0';
        if (*name == '\0' || json_object_get(properties, name) != NULL)
            return refuse(l);
        json_object_set(properties, name, schema);
        if (required != NULL && !optional)
            json_array_append_new(required, json_string(name));
    }
    return CSE_OK;
}

/* One line and those below it, as members of `properties`; `required` may be NULL. */
static cse_status read_block(const char **text, json_t *properties, json_t *required)
{
    line l;
    cse_status status = read_line(text, &l);
    if (status == CSE_OK && l.example != NULL)
        status = refuse(&l);
    json_t *schema =
        l.schema != NULL ? json_incref(l.schema) : json_pack("{s:s}", "type", "object");
    if (l.doc != NULL)
        json_object_set_new(schema, "description", json_string(l.doc));
    if (status == CSE_OK)
        status = read_members(text, &l, schema);
    if (status == CSE_OK)
        status = add_names(&l, schema, properties, required);
    json_decref(schema);
    clear_line(&l);
    return status;
}

cse_status cse_schemas_read(const char *text, json_t *schemas)
{
    assert(json_is_object(schemas));
    while (*text != '\0')
        CSE_TRY(read_block(&text, schemas, NULL));
    return CSE_OK;
}

cse_status cse_schema_read_parameter(const char **text, json_t **parameter)
{
    line l, example;
    *parameter = NULL;
    if (**text == '\0')
        return CSE_OK;
    cse_status status = read_line(text, &l);
    json_t *p = json_object();
    size_t length = strcspn(l.names, "?");
    json_object_set_new(p, "name", json_stringn(l.names, length));
    if (l.names[length] == '\0')
        json_object_set_new(p, "required", json_true());
    if (l.doc != NULL)
        json_object_set_new(p, "description", json_string(l.doc));
    if (l.schema != NULL)
        json_object_set(p, "schema", l.schema);
    if (l.comma) {
        json_object_set_new(p, "style", json_string("form"));
        json_object_set_new(p, "explode", json_false());
    }
    clear_line(&l);
    if (status == CSE_OK && (*text)[indent_of(*text)] == '=') {
        read_line(text, &example);
        status = add_example(&example, p, false);
    }
    if (status == CSE_OK)
        *parameter = p;
    else
        json_decref(p);
    return status;
}
