/* One function for each direction, with a case for each type of field. Nothing that is read is used
 * before its kind and range are checked. */
#include "engine/graph/json_fields.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/json.h"

/* Limit on elements, so that products of sizes do not overflow. */
#define MOST_ELEMENTS ((int64_t)1 << 44)

/* ---- writing ---- */

void cse_json_positions(cse_text *out, cse_node *const nodes[], int count)
{
    cse_text_add_bytes(out, "[", 1);
    for (int n = 0; n < count; n++) {
        if (n > 0)
            cse_text_add_bytes(out, ",", 1);
        cse_text_add_number(out, nodes[n]->scratch);
    }
    cse_text_add_bytes(out, "]", 1);
}

void cse_json_integers(cse_text *out, const int64_t integers[], int count)
{
    cse_text_add_bytes(out, "[", 1);
    for (int i = 0; i < count; i++) {
        if (i > 0)
            cse_text_add_bytes(out, ",", 1);
        cse_text_add_number(out, integers[i]);
    }
    cse_text_add_bytes(out, "]", 1);
}

void cse_json_key(cse_text *out, const char *key)
{
    char last = out->size > 0 ? out->data[out->size - 1] : '{';
    if (last != '{' && last != '[')
        cse_text_add_bytes(out, ",", 1);
    cse_text_add_bytes(out, "\"", 1);
    cse_text_add_bytes(out, key, strlen(key));
    cse_text_add_bytes(out, "\":", 2);
}

/* The number in a field of a type that is one. */
static int64_t number_in(const cse_field *field, const void *at)
{
    switch (field->type) {
    case CSE_FIELD_INT:
        return *(const int *)at;
    case CSE_FIELD_UINT:
        return *(const uint32_t *)at;
    case CSE_FIELD_LEVEL:
        return *(const uint8_t *)at - 1;
    case CSE_FIELD_INT64:
        return *(const int64_t *)at;
    case CSE_FIELD_NODE: {
        const cse_node *node = *(cse_node *const *)at;
        return node != NULL ? node->scratch : -1;
    }
    default:
        return 0;
    }
}

static void write_value(const cse_field *field, const void *at, cse_text *out)
{
    const char *text;
    const cse_shape *shape = at;
    switch (field->type) {
    case CSE_FIELD_BOOL:
        text = *(const bool *)at ? "true" : "false";
        cse_text_add_bytes(out, text, strlen(text));
        break;
    case CSE_FIELD_TEXT:
        text = *(const char *const *)at;
        cse_json_add_string(out, text != NULL ? text : "");
        break;
    case CSE_FIELD_DTYPE:
        cse_json_add_string(out, cse_dtype_name(*(const cse_dtype *)at));
        break;
    case CSE_FIELD_SHAPE:
        cse_json_integers(out, shape->dims, shape->rank);
        break;
    case CSE_FIELD_DOUBLE:
        cse_text_add(out, "\"%a\"", *(const double *)at);
        break;
    default:
        cse_text_add_number(out, number_in(field, at));
    }
}

/* Whether an optional field is left out. */
static bool is_nothing(const cse_field *field, const void *at)
{
    const char *text;
    switch (field->type) {
    case CSE_FIELD_BOOL:
        return !*(const bool *)at;
    case CSE_FIELD_TEXT:
        text = *(const char *const *)at;
        return text == NULL || text[0] == '\0';
    default:
        return number_in(field, at) == 0;
    }
}

void cse_fields_write(const cse_field *fields, const void *record, cse_text *out)
{
    for (const cse_field *field = fields; field->key != NULL; field++) {
        const void *at = (const char *)record + field->offset;
        bool missing = field->type == CSE_FIELD_LEVEL && number_in(field, at) < 0;
        if (missing || (field->optional && is_nothing(field, at)))
            continue;
        cse_json_key(out, field->key);
        write_value(field, at, out);
    }
}

/* ---- reading ---- */

void cse_field_wrong(cse_field_reader *reader, const char *what)
{
    if (reader->status == CSE_OK)
        reader->status = cse_fail(CSE_DATA, "graph file: %s is missing or wrong", what);
}

double cse_field_double(cse_field_reader *reader, const json_t *value)
{
    if (json_is_string(value))
        return strtod(json_string_value(value), NULL);
    cse_field_wrong(reader, "number");
    return 0;
}

cse_node *cse_field_node(cse_field_reader *reader, const json_t *position)
{
    json_int_t index = json_integer_value(position);
    if (json_is_integer(position) && index >= 0 && index < reader->graph->node_count)
        return reader->graph->nodes[index];
    cse_field_wrong(reader, "node index");
    return NULL;
}

static int64_t read_number(cse_field_reader *reader, const cse_field *field, const json_t *value)
{
    json_int_t number = json_integer_value(value);
    if (json_is_integer(value) && number >= field->low && number <= field->high)
        return number;
    cse_field_wrong(reader, field->key);
    return field->low;
}

static const char *read_text(cse_field_reader *reader, const cse_field *field, const json_t *value)
{
    if (!json_is_string(value))
        cse_field_wrong(reader, field->key);
    return cse_arena_string(reader->graph->arena,
                            json_is_string(value) ? json_string_value(value) : "");
}

static cse_dtype read_dtype(cse_field_reader *reader, const cse_field *field, const json_t *value)
{
    cse_dtype dtype = cse_dtype_from_name(json_is_string(value) ? json_string_value(value) : "");
    if (dtype != CSE_DTYPE_COUNT)
        return dtype;
    cse_field_wrong(reader, field->key);
    return CSE_FLOAT32;
}

static cse_shape read_shape(cse_field_reader *reader, const json_t *dims)
{
    cse_shape shape = { .rank = (int)json_array_size(dims) };
    int64_t elements = 1;
    bool fits = json_is_array(dims) && json_array_size(dims) <= CSE_MAX_RANK;
    for (int i = 0; fits && i < shape.rank; i++) {
        int64_t size = shape.dims[i] = json_integer_value(json_array_get(dims, (size_t)i));
        fits = size >= 0 && (size == 0 || elements <= MOST_ELEMENTS / size);
        elements *= fits && size > 0 ? size : 1;
    }
    if (fits)
        return shape;
    cse_field_wrong(reader, "shape");
    return (cse_shape){ 0 };
}

static void read_value(cse_field_reader *reader, const cse_field *field, const json_t *value,
                       void *at)
{
    switch (field->type) {
    case CSE_FIELD_INT:
        *(int *)at = (int)read_number(reader, field, value);
        break;
    case CSE_FIELD_UINT:
        *(uint32_t *)at = (uint32_t)read_number(reader, field, value);
        break;
    case CSE_FIELD_LEVEL:
        *(uint8_t *)at = (uint8_t)(read_number(reader, field, value) + 1);
        break;
    case CSE_FIELD_INT64:
        *(int64_t *)at = read_number(reader, field, value);
        break;
    case CSE_FIELD_BOOL:
        *(bool *)at = json_is_true(value);
        break;
    case CSE_FIELD_TEXT:
        *(const char **)at = read_text(reader, field, value);
        break;
    case CSE_FIELD_DTYPE:
        *(cse_dtype *)at = read_dtype(reader, field, value);
        break;
    case CSE_FIELD_SHAPE:
        *(cse_shape *)at = read_shape(reader, value);
        break;
    case CSE_FIELD_NODE:
        if (!json_is_integer(value) || json_integer_value(value) != -1 || field->low != -1)
            *(cse_node **)at = cse_field_node(reader, value);
        break;
    case CSE_FIELD_DOUBLE:
        *(double *)at = cse_field_double(reader, value);
        break;
    }
}

void cse_fields_read(cse_field_reader *reader, const cse_field *fields, const json_t *object,
                     void *record)
{
    for (const cse_field *field = fields; field->key != NULL; field++) {
        const json_t *value = json_object_get(object, field->key);
        if (value != NULL || !(field->optional || field->type == CSE_FIELD_LEVEL))
            read_value(reader, field, value, (char *)record + field->offset);
    }
}
