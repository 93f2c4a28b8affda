/* Trees as JSON, from the coordinator to a worker: values and where they were written, so that the
 * worker checks them against the same table and its messages name the user's file.
 *
 *     {"version": 1, "root": NODE}
 *     NODE: {"text": "8", "quoted": true} or {"list": [NODE...]} or {"map": {"batch_size": NODE}},
 *     with "source", "line", "column" of its place; "source" only where it is not the parent's. */
#include <jansson.h>
#include <string.h>

#include "engine/base/config/yaml.h"
#include "engine/base/json.h"

enum { VERSION = 1 };

/* ---- writing ---- */

static void encode_node(const cse_yaml_node *node, const char *parent_source, cse_text *json)
{
    const char *source = node->place.source != NULL ? node->place.source : "";
    cse_text_add(json, "{\"line\":%d,\"column\":%d", node->place.line, node->place.column);
    if (parent_source == NULL || strcmp(source, parent_source) != 0) {
        cse_text_add(json, ",\"source\":");
        cse_json_add_string(json, source);
    }
    if (node->kind == CSE_YAML_SCALAR) {
        cse_text_add(json, "%s,\"text\":", node->quoted ? ",\"quoted\":true" : "");
        cse_json_add_string(json, node->text);
    } else {
        const bool mapping = node->kind == CSE_YAML_MAPPING;
        cse_text_add(json, mapping ? ",\"map\":{" : ",\"list\":[");
        for (int i = 0; i < node->count; i++) {
            cse_text_add(json, i > 0 ? "," : "");
            if (mapping) {
                cse_json_add_string(json, node->keys[i].text);
                cse_text_add(json, ":");
            }
            encode_node(node->children[i], source, json);
        }
        cse_text_add(json, mapping ? "}" : "]");
    }
    cse_text_add(json, "}");
}

void cse_yaml_encode(const cse_yaml_node *node, cse_text *json)
{
    cse_text_add(json, "{\"version\":%d,\"root\":", VERSION);
    encode_node(node, NULL, json);
    cse_text_add(json, "}");
}

/* ---- reading ---- */

typedef struct decoder {
    cse_arena *arena;
    int node_count;
} decoder;

static cse_status reject(const char *what)
{
    return cse_fail(CSE_DATA, "encoded settings: %s", what);
}

static cse_status decode_node(decoder *d, const json_t *json, const cse_place *parent, int depth,
                              cse_yaml_node **result);

static cse_status decode_children(decoder *d, const json_t *json, int depth, cse_yaml_node *node)
{
    const json_t *map = json_object_get(json, "map");
    const json_t *list = json_object_get(json, "list");
    const char *name;
    json_t *value;
    size_t index;
    cse_yaml_node *child = NULL;
    if (json_is_object(map) == json_is_array(list))
        return reject("a node is neither a text nor a list nor a mapping");
    node->kind = map != NULL ? CSE_YAML_MAPPING : CSE_YAML_SEQUENCE;
    json_object_foreach((json_t *)(uintptr_t)map, name, value)
    {
        CSE_TRY(decode_node(d, value, &node->place, depth + 1, &child));
        cse_yaml_put(d->arena, node,
                     (cse_yaml_key){ cse_arena_string(d->arena, name), child->place }, child);
    }
    json_array_foreach((json_t *)(uintptr_t)list, index, value)
    {
        CSE_TRY(decode_node(d, value, &node->place, depth + 1, &child));
        cse_yaml_append(d->arena, node, child);
    }
    return CSE_OK;
}

/* A line or column, in the range that a text within the size limit can have. */
static int decode_position(const json_t *json, const char *name)
{
    json_int_t position = json_integer_value(json_object_get(json, name));
    return position >= 0 && position <= CSE_YAML_MAX_BYTES + 1 ? (int)position : 0;
}

static cse_status decode_node(decoder *d, const json_t *json, const cse_place *parent, int depth,
                              cse_yaml_node **result)
{
    if (depth > CSE_YAML_MAX_DEPTH || ++d->node_count > CSE_YAML_MAX_NODES)
        return reject("more levels or values than a configuration has");
    const char *source = json_string_value(json_object_get(json, "source"));
    const char *text = json_string_value(json_object_get(json, "text"));
    const cse_place place = { source != NULL ? cse_arena_string(d->arena, source) : parent->source,
                              decode_position(json, "line"), decode_position(json, "column") };
    *result = cse_yaml_scalar_new(d->arena, place, text != NULL ? text : "");
    (*result)->quoted = json_is_true(json_object_get(json, "quoted"));
    return text != NULL ? CSE_OK : decode_children(d, json, depth, *result);
}

cse_status cse_yaml_decode(cse_arena *arena, const char *json, size_t size, cse_yaml_node **node)
{
    *node = NULL;
    decoder d = { .arena = arena };
    json_t *root = json_loadb(json, size, JSON_REJECT_DUPLICATES, NULL);
    cse_status status = CSE_OK;
    if (json_integer_value(json_object_get(root, "version")) != VERSION)
        status = reject("another version, or no JSON object");
    else
        status = decode_node(&d, json_object_get(root, "root"), &(cse_place){ "", 0, 0 }, 0, node);
    json_decref(root);
    return status;
}
