/* Parts of values: attributes, items and slices.
 *
 * As in Jinja's sandbox: value.name looks for a method first and for a key of a dict then,
 * value["name"] the other way round; what changes a value, and names of Python's inside, are
 * refused. */
#include <string.h>

#include "dataloader/chat/characters.h"
#include "dataloader/chat/functions.h"
#include "dataloader/chat/run.h"

static cse_jinja_value bound(cse_jinja_run *run, const cse_jinja_function *function,
                             const cse_jinja_value *self)
{
    cse_jinja_callable *callable = cse_arena_alloc(run->arena, sizeof *callable);
    callable->function = function;
    callable->self = *self;
    return (cse_jinja_value){ .kind = CSE_JINJA_CALLABLE, .callable = callable };
}

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

/* Methods that change a list or a dict. */
static bool changes(const cse_jinja_value *value, const char *name)
{
    static const char *const of_list[] = { "append", "clear",  "pop",    "reverse", "insert",
                                           "sort",   "extend", "remove", NULL };
    static const char *const of_dict[] = {
        "clear", "pop", "popitem", "setdefault", "update", NULL
    };
    return (value->kind == CSE_JINJA_LIST && is_one_of(name, of_list)) ||
           (value->kind == CSE_JINJA_DICT && is_one_of(name, of_dict));
}

/* NULL: values of this kind have none. */
static const cse_jinja_functions *methods_of(const cse_jinja_value *value)
{
    switch (value->kind) {
    case CSE_JINJA_TEXT:
        return &cse_jinja_text_methods;
    case CSE_JINJA_DICT:
        return &cse_jinja_dict_methods;
    case CSE_JINJA_LIST:
    case CSE_JINJA_TUPLE:
        return &cse_jinja_list_methods;
    case CSE_JINJA_LOOP:
        return &cse_jinja_loop_methods;
    default:
        return NULL;
    }
}

static cse_jinja_value at_of_loop(const cse_jinja_loop *loop, int64_t index, const char *what)
{
    return index >= 0 && index < (int64_t)loop->list->count ? loop->list->values[index]
                                                            : cse_jinja_undefined(what);
}

static cse_jinja_value attribute_of_loop(const cse_jinja_loop *loop, const char *name)
{
    const int64_t index = (int64_t)loop->index, count = (int64_t)loop->list->count;
    const struct {
        const char *name;
        cse_jinja_value value;
    } attributes[] = {
        { "index", cse_jinja_integer(index + 1) },
        { "index0", cse_jinja_integer(index) },
        { "revindex", cse_jinja_integer(count - index) },
        { "revindex0", cse_jinja_integer(count - index - 1) },
        { "first", cse_jinja_boolean(index == 0) },
        { "last", cse_jinja_boolean(index + 1 == count) },
        { "length", cse_jinja_integer(count) },
        { "depth", cse_jinja_integer(loop->depth + 1) },
        { "depth0", cse_jinja_integer(loop->depth) },
        { "previtem", at_of_loop(loop, index - 1, "loop.previtem") },
        { "nextitem", at_of_loop(loop, index + 1, "loop.nextitem") },
    };
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++)
        if (strcmp(attributes[i].name, name) == 0)
            return attributes[i].value;
    return cse_jinja_undefined(name);
}

static bool find_method(cse_jinja_run *run, const cse_jinja_value *value, const char *name,
                        cse_jinja_value *result)
{
    const cse_jinja_functions *methods = methods_of(value);
    const cse_jinja_function *method =
        methods != NULL ? cse_jinja_function_find(methods, name) : NULL;
    if (method == NULL)
        return false;
    *result = bound(run, method, value);
    return true;
}

static cse_status refuse_unsafe(const cse_jinja_run *run, const cse_jinja_value *value,
                                const char *name)
{
    return cse_jinja_refuse(run,
                            changes(value, name) ? "\"%s\" would change a %s: a template may not"
                                                 : "\"%s\" of a %s is not for templates",
                            name, cse_jinja_kind_name(value));
}

cse_status cse_jinja_attribute(cse_jinja_run *run, const cse_jinja_value *value, const char *name,
                               cse_jinja_value *result)
{
    if (value->kind == CSE_JINJA_UNDEFINED)
        return cse_jinja_refuse(run, "\"%.100s\" is not defined: it has no \"%.100s\"",
                                value->text.bytes, name);
    if (changes(value, name) || strncmp(name, "__", 2) == 0)
        return refuse_unsafe(run, value, name);
    *result = cse_jinja_undefined(name);
    if (value->kind == CSE_JINJA_LOOP)
        *result = attribute_of_loop(value->loop, name);
    if (result->kind != CSE_JINJA_UNDEFINED || find_method(run, value, name, result))
        return CSE_OK;
    if (value->kind == CSE_JINJA_DICT || value->kind == CSE_JINJA_NAMESPACE) {
        const cse_jinja_value *member = cse_jinja_dict_find_word(value->dict, name);
        CSE_TRY(cse_jinja_step(run, value->dict->count / 64));
        if (member != NULL)
            *result = *member;
    }
    return CSE_OK;
}

static bool item_of_list(const cse_jinja_value *value, int64_t index, cse_jinja_value *result)
{
    const int64_t count = (int64_t)value->list->count;
    index += index < 0 ? count : 0;
    if (index < 0 || index >= count)
        return false;
    *result = value->list->values[index];
    return true;
}

static bool item_of_text(const cse_jinja_value *value, int64_t index, cse_jinja_value *result)
{
    const char *bytes = value->text.bytes;
    const size_t size = value->text.length;
    index += index < 0 ? (int64_t)cse_characters_count(bytes, size) : 0;
    const size_t at = index < 0 ? size : cse_characters_offset(bytes, size, (size_t)index);
    if (at == size)
        return false;
    *result = cse_jinja_text(bytes + at, cse_characters_offset(bytes + at, size - at, 1));
    return true;
}

cse_status cse_jinja_item(cse_jinja_run *run, const cse_jinja_value *value,
                          const cse_jinja_value *key, cse_jinja_value *result)
{
    int64_t index;
    if (value->kind == CSE_JINJA_UNDEFINED)
        return cse_jinja_refuse(run, "\"%.100s\" is not defined: it has no items",
                                value->text.bytes);
    const char *name = cse_jinja_name_of(run->arena, key);
    *result = cse_jinja_undefined(name[0] != '\0' ? name : "an item");
    if (value->kind == CSE_JINJA_DICT) {
        const cse_jinja_value *member = cse_jinja_dict_find(value->dict, key);
        CSE_TRY(cse_jinja_step(run, value->dict->count / 64));
        if (member != NULL) {
            *result = *member;
            return CSE_OK;
        }
    } else if (cse_jinja_is_whole(key, &index)) {
        if (value->kind >= CSE_JINJA_LIST && value->kind <= CSE_JINJA_RANGE)
            item_of_list(value, index, result);
        else if (value->kind == CSE_JINJA_TEXT) {
            CSE_TRY(cse_jinja_step(run, value->text.length / 64));
            item_of_text(value, index, result);
        }
        return CSE_OK;
    }
    return name[0] == '\0' ? CSE_OK : cse_jinja_attribute(run, value, name, result);
}

/* ---- slices ---- */

/* As slice.indices() of Python. */
static cse_status slice_bounds(cse_jinja_run *run, const cse_jinja_value given[3], int64_t count,
                               int64_t bounds[3])
{
    bool is_given[3];
    bounds[2] = 1;
    for (int i = 2; i >= 0; i--) {
        is_given[i] = given[i].kind > CSE_JINJA_NONE;
        if (given[i].kind == CSE_JINJA_UNDEFINED ||
            (is_given[i] && !cse_jinja_is_whole(&given[i], &bounds[i])))
            return cse_jinja_refuse(run, "a bound of a slice is a %s, no whole number",
                                    cse_jinja_kind_name(&given[i]));
    }
    const bool back = bounds[2] < 0;
    if (bounds[2] == 0)
        return cse_jinja_refuse(run, "the step of a slice is 0");
    for (int i = 0; i < 2; i++) {
        const int64_t low = back ? -1 : 0, high = back ? count - 1 : count;
        if (!is_given[i])
            bounds[i] = (i == 0) == back ? high : low;
        else {
            bounds[i] += bounds[i] < 0 ? count : 0;
            bounds[i] = bounds[i] < low ? low : bounds[i] > high ? high : bounds[i];
        }
    }
    return CSE_OK;
}

static cse_status slice_list(cse_jinja_run *run, const cse_jinja_value *value,
                             const int64_t bounds[3], cse_jinja_value *result)
{
    const cse_jinja_kind kind = value->kind == CSE_JINJA_RANGE ? CSE_JINJA_LIST : value->kind;
    *result = cse_jinja_list_new(run->arena, kind, 0);
    for (int64_t i = bounds[0]; bounds[2] > 0 ? i < bounds[1] : i > bounds[1];) {
        CSE_TRY(cse_jinja_step(run, 1));
        cse_jinja_list_add(run->arena, result->list, value->list->values[i]);
        if (__builtin_add_overflow(i, bounds[2], &i))
            break;
    }
    return CSE_OK;
}

static cse_status slice_text(cse_jinja_run *run, const cse_jinja_value *value,
                             const int64_t bounds[3], cse_jinja_value *result)
{
    const char *bytes = value->text.bytes;
    const size_t size = value->text.length;
    CSE_TRY(cse_jinja_step(run, size / 16));
    if (bounds[2] == 1) {
        const size_t from = cse_characters_offset(bytes, size, (size_t)bounds[0]);
        const size_t to =
            bounds[1] > bounds[0] ? cse_characters_offset(bytes, size, (size_t)bounds[1]) : from;
        *result = cse_jinja_text(bytes + from, to - from);
        return CSE_OK;
    }
    cse_jinja_value characters = { .kind = CSE_JINJA_LIST }, chosen;
    cse_text out = { 0 };
    CSE_TRY(cse_jinja_iterate(run, value, &characters.list));
    CSE_TRY(slice_list(run, &characters, bounds, &chosen));
    for (size_t i = 0; i < chosen.list->count; i++)
        cse_jinja_print(&out, &chosen.list->values[i]);
    return cse_jinja_collected(run, &out, result);
}

cse_status cse_jinja_slice(cse_jinja_run *run, const cse_jinja_value *value,
                           const cse_jinja_value given[3], cse_jinja_value *result)
{
    int64_t bounds[3];
    const bool is_text = value->kind == CSE_JINJA_TEXT;
    if (value->kind == CSE_JINJA_UNDEFINED)
        return cse_jinja_refuse(run, "\"%.100s\" is not defined: it has no slices",
                                value->text.bytes);
    if (!is_text && (value->kind < CSE_JINJA_LIST || value->kind > CSE_JINJA_RANGE)) {
        *result = cse_jinja_undefined("a slice");
        return CSE_OK;
    }
    const size_t count =
        is_text ? cse_characters_count(value->text.bytes, value->text.length) : value->list->count;
    CSE_TRY(slice_bounds(run, given, (int64_t)count, bounds));
    return is_text ? slice_text(run, value, bounds, result)
                   : slice_list(run, value, bounds, result);
}
