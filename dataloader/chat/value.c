/* Values of templates: making, finding, comparing. Comparisons are Python's: True is 1, 1 is 1.0,
 * texts are ordered by code points, lists and tuples by their first difference. Texts are UTF-8,
 * where the order of bytes is that of code points. */
#include "dataloader/chat/value.h"

#include <string.h>

enum { MOST_DEPTH = 200 };

cse_jinja_value cse_jinja_word(const char *text)
{
    return cse_jinja_text(text, strlen(text));
}

cse_jinja_value cse_jinja_undefined(const char *what)
{
    return (cse_jinja_value){ .kind = CSE_JINJA_UNDEFINED, .text = { what, strlen(what) } };
}

cse_jinja_value cse_jinja_text_copy(cse_arena *arena, const char *bytes, size_t length)
{
    char *copy = cse_arena_alloc(arena, length + 1);
    if (length > 0)
        memcpy(copy, bytes, length);
    return cse_jinja_text(copy, length);
}

const char *cse_jinja_name_of(cse_arena *arena, const cse_jinja_value *value)
{
    if (value->kind != CSE_JINJA_TEXT ||
        memchr(value->text.bytes, '\0', value->text.length) != NULL)
        return "";
    return cse_jinja_text_copy(arena, value->text.bytes, value->text.length).text.bytes;
}

cse_jinja_value cse_jinja_list_new(cse_arena *arena, cse_jinja_kind kind, size_t capacity)
{
    cse_jinja_list *list = cse_arena_alloc(arena, sizeof *list);
    list->capacity = capacity;
    if (capacity > 0)
        list->values = cse_arena_alloc(arena, capacity * sizeof *list->values);
    return (cse_jinja_value){ .kind = kind, .list = list };
}

static void *grown(cse_arena *arena, const void *old, size_t count, size_t capacity)
{
    void *memory = cse_arena_alloc(arena, capacity * sizeof(cse_jinja_value));
    if (count > 0)
        memcpy(memory, old, count * sizeof(cse_jinja_value));
    return memory;
}

void cse_jinja_list_add(cse_arena *arena, cse_jinja_list *list, cse_jinja_value value)
{
    if (list->count == list->capacity) {
        list->capacity = list->capacity == 0 ? 8 : 2 * list->capacity;
        list->values = grown(arena, list->values, list->count, list->capacity);
    }
    list->values[list->count++] = value;
}

cse_jinja_value cse_jinja_pair(cse_arena *arena, cse_jinja_value first, cse_jinja_value second)
{
    cse_jinja_value pair = cse_jinja_list_new(arena, CSE_JINJA_TUPLE, 2);
    cse_jinja_list_add(arena, pair.list, first);
    cse_jinja_list_add(arena, pair.list, second);
    return pair;
}

/* ---- dicts ---- */

cse_jinja_value cse_jinja_dict_new(cse_arena *arena, cse_jinja_kind kind)
{
    return (cse_jinja_value){ .kind = kind,
                              .dict = cse_arena_alloc(arena, sizeof(cse_jinja_dict)) };
}

cse_jinja_value *cse_jinja_dict_find(const cse_jinja_dict *dict, const cse_jinja_value *key)
{
    int64_t compared = 0;
    for (size_t i = 0; i < dict->count; i++)
        if (cse_jinja_equal(&dict->keys[i], key, &compared))
            return &dict->values[i];
    return NULL;
}

cse_jinja_value *cse_jinja_dict_find_word(const cse_jinja_dict *dict, const char *key)
{
    const cse_jinja_value word = cse_jinja_word(key);
    return cse_jinja_dict_find(dict, &word);
}

void cse_jinja_dict_add(cse_arena *arena, cse_jinja_dict *dict, cse_jinja_value key,
                        cse_jinja_value value)
{
    if (dict->count == dict->capacity) {
        dict->capacity = dict->capacity == 0 ? 8 : 2 * dict->capacity;
        dict->keys = grown(arena, dict->keys, dict->count, dict->capacity);
        dict->values = grown(arena, dict->values, dict->count, dict->capacity);
    }
    dict->keys[dict->count] = key;
    dict->values[dict->count++] = value;
}

void cse_jinja_dict_set(cse_arena *arena, cse_jinja_dict *dict, cse_jinja_value key,
                        cse_jinja_value value)
{
    cse_jinja_value *known = cse_jinja_dict_find(dict, &key);
    if (known != NULL)
        *known = value;
    else
        cse_jinja_dict_add(arena, dict, key, value);
}

/* ---- JSON ---- */

static cse_jinja_value of_object(cse_arena *arena, const json_t *json)
{
    const char *key;
    json_t *member;
    cse_jinja_value dict = cse_jinja_dict_new(arena, CSE_JINJA_DICT);
    json_object_foreach((json_t *)(uintptr_t)json, key, member)
        cse_jinja_dict_add(arena, dict.dict, cse_jinja_word(key), cse_jinja_of_json(arena, member));
    return dict;
}

static cse_jinja_value of_array(cse_arena *arena, const json_t *json)
{
    size_t i;
    json_t *member;
    cse_jinja_value list = cse_jinja_list_new(arena, CSE_JINJA_LIST, json_array_size(json));
    json_array_foreach(json, i, member)
        cse_jinja_list_add(arena, list.list, cse_jinja_of_json(arena, member));
    return list;
}

cse_jinja_value cse_jinja_of_json(cse_arena *arena, const json_t *json)
{
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        return of_object(arena, json);
    case JSON_ARRAY:
        return of_array(arena, json);
    case JSON_STRING:
        return cse_jinja_text(json_string_value(json), json_string_length(json));
    case JSON_INTEGER:
        return cse_jinja_integer(json_integer_value(json));
    case JSON_REAL:
        return cse_jinja_float(json_real_value(json));
    case JSON_TRUE:
    case JSON_FALSE:
        return cse_jinja_boolean(json_is_true(json));
    default:
        return cse_jinja_none();
    }
}

/* ---- looking at values ---- */

bool cse_jinja_is_whole(const cse_jinja_value *value, int64_t *integer)
{
    if (value->kind == CSE_JINJA_BOOLEAN)
        *integer = value->boolean;
    else if (value->kind == CSE_JINJA_INTEGER)
        *integer = value->integer;
    else
        return false;
    return true;
}

bool cse_jinja_is_number(const cse_jinja_value *value, double *number)
{
    int64_t integer;
    if (cse_jinja_is_whole(value, &integer))
        *number = (double)integer;
    else if (value->kind == CSE_JINJA_FLOAT)
        *number = value->number;
    else
        return false;
    return true;
}

bool cse_jinja_is_true(const cse_jinja_value *value)
{
    double number;
    switch (value->kind) {
    case CSE_JINJA_ABSENT:
    case CSE_JINJA_UNDEFINED:
    case CSE_JINJA_NONE:
        return false;
    case CSE_JINJA_TEXT:
        return value->text.length > 0;
    case CSE_JINJA_LIST:
    case CSE_JINJA_TUPLE:
    case CSE_JINJA_RANGE:
    case CSE_JINJA_VIEW:
        return value->list->count > 0;
    case CSE_JINJA_DICT:
        return value->dict->count > 0;
    default:
        return !cse_jinja_is_number(value, &number) || number != 0;
    }
}

bool cse_jinja_is_text(const cse_jinja_value *value, const char *text)
{
    return value->kind == CSE_JINJA_TEXT && value->text.length == strlen(text) &&
           memcmp(value->text.bytes, text, value->text.length) == 0;
}

const char *cse_jinja_kind_name(const cse_jinja_value *value)
{
    static const char *const names[] = {
        [CSE_JINJA_ABSENT] = "absent",
        [CSE_JINJA_UNDEFINED] = "Undefined",
        [CSE_JINJA_NONE] = "NoneType",
        [CSE_JINJA_BOOLEAN] = "bool",
        [CSE_JINJA_INTEGER] = "int",
        [CSE_JINJA_FLOAT] = "float",
        [CSE_JINJA_TEXT] = "str",
        [CSE_JINJA_LIST] = "list",
        [CSE_JINJA_TUPLE] = "tuple",
        [CSE_JINJA_RANGE] = "range",
        [CSE_JINJA_VIEW] = "view of a dict",
        [CSE_JINJA_GENERATOR] = "generator",
        [CSE_JINJA_DICT] = "dict",
        [CSE_JINJA_NAMESPACE] = "Namespace",
        [CSE_JINJA_LOOP] = "LoopContext",
        [CSE_JINJA_CALLABLE] = "function",
    };
    return names[value->kind];
}

/* ---- comparisons ---- */

typedef struct comparison {
    int depth;
    int64_t *compared;
} comparison;

/* Whether two values more may be compared. */
static bool count(comparison *c, const cse_jinja_value *a, const cse_jinja_value *b)
{
    *c->compared += 1;
    if (a->kind == CSE_JINJA_TEXT && b->kind == CSE_JINJA_TEXT)
        *c->compared +=
            (int64_t)(a->text.length < b->text.length ? a->text.length : b->text.length) / 64;
    if (c->depth > MOST_DEPTH)
        *c->compared = CSE_JINJA_MOST_COMPARED + 1;
    return *c->compared <= CSE_JINJA_MOST_COMPARED;
}

static bool equal_at(comparison *c, const cse_jinja_value *a, const cse_jinja_value *b);

static bool equal_lists(comparison *c, const cse_jinja_list *a, const cse_jinja_list *b)
{
    if (a == b)
        return true;
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!equal_at(c, &a->values[i], &b->values[i]))
            return false;
    return true;
}

static bool equal_dicts(comparison *c, const cse_jinja_dict *a, const cse_jinja_dict *b)
{
    if (a == b)
        return true;
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const cse_jinja_value *other = cse_jinja_dict_find(b, &a->keys[i]);
        if (other == NULL || !equal_at(c, &a->values[i], other))
            return false;
    }
    return true;
}

static bool equal_parts(comparison *c, const cse_jinja_value *a, const cse_jinja_value *b)
{
    switch (a->kind) {
    case CSE_JINJA_TEXT:
        return a->text.length == b->text.length &&
               memcmp(a->text.bytes, b->text.bytes, a->text.length) == 0;
    case CSE_JINJA_LIST:
    case CSE_JINJA_TUPLE:
    case CSE_JINJA_RANGE:
        return equal_lists(c, a->list, b->list);
    case CSE_JINJA_DICT:
        return equal_dicts(c, a->dict, b->dict);
    case CSE_JINJA_VIEW:
    case CSE_JINJA_GENERATOR:
        return a->list == b->list;
    case CSE_JINJA_NAMESPACE:
        return a->dict == b->dict;
    case CSE_JINJA_LOOP:
        return a->loop == b->loop;
    case CSE_JINJA_CALLABLE:
        return a->callable == b->callable;
    default:
        return true;
    }
}

static bool equal_at(comparison *c, const cse_jinja_value *a, const cse_jinja_value *b)
{
    double x, y;
    int64_t i, j;
    if (!count(c, a, b))
        return false;
    if (cse_jinja_is_whole(a, &i) && cse_jinja_is_whole(b, &j))
        return i == j;
    if (cse_jinja_is_number(a, &x) && cse_jinja_is_number(b, &y))
        return x == y;
    if (a->kind != b->kind)
        return false;
    c->depth++;
    const bool equal = equal_parts(c, a, b);
    c->depth--;
    return equal;
}

bool cse_jinja_equal(const cse_jinja_value *a, const cse_jinja_value *b, int64_t *compared)
{
    comparison c = { .compared = compared };
    return equal_at(&c, a, b);
}

static int order_of_texts(const cse_jinja_value *a, const cse_jinja_value *b)
{
    const size_t x = a->text.length, y = b->text.length;
    const int first = memcmp(a->text.bytes, b->text.bytes, x < y ? x : y);
    return first != 0 ? (first > 0) - (first < 0) : (x > y) - (x < y);
}

static bool order_of_numbers(const cse_jinja_value *a, const cse_jinja_value *b, int *order)
{
    double x, y;
    int64_t i, j;
    if (cse_jinja_is_whole(a, &i) && cse_jinja_is_whole(b, &j)) {
        *order = (i > j) - (i < j);
        return true;
    }
    if (!cse_jinja_is_number(a, &x) || !cse_jinja_is_number(b, &y))
        return false;
    *order = (x > y) - (x < y);
    return true;
}

static bool order_at(comparison *c, const cse_jinja_value *a, const cse_jinja_value *b, int *order)
{
    if (!count(c, a, b))
        return false;
    if (order_of_numbers(a, b, order))
        return true;
    if (a->kind != b->kind)
        return false;
    if (a->kind == CSE_JINJA_TEXT) {
        *order = order_of_texts(a, b);
        return true;
    }
    if (a->kind != CSE_JINJA_LIST && a->kind != CSE_JINJA_TUPLE)
        return false;
    const cse_jinja_list *x = a->list, *y = b->list;
    c->depth++;
    for (size_t i = 0; i < x->count && i < y->count; i++)
        if (!equal_at(c, &x->values[i], &y->values[i]))
            return order_at(c, &x->values[i], &y->values[i], order);
    c->depth--;
    *order = (x->count > y->count) - (x->count < y->count);
    return true;
}

bool cse_jinja_order(const cse_jinja_value *a, const cse_jinja_value *b, int *order,
                     int64_t *compared)
{
    comparison c = { .compared = compared };
    return order_at(&c, a, b, order);
}
