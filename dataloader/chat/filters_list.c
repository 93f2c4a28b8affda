/* Filters of lists and dicts. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/chat/characters.h"
#include "dataloader/chat/filters.h"
#include "dataloader/chat/sorting.h"

/* ---- keys of values: an attribute such as "function.name" or "0", in small letters ---- */

static cse_status follow(cse_jinja_run *run, const cse_jinja_value *attribute,
                         cse_jinja_value *value)
{
    int64_t index;
    if (attribute->kind == CSE_JINJA_ABSENT || attribute->kind == CSE_JINJA_NONE)
        return CSE_OK;
    cse_jinja_value holder = *value;
    if (cse_jinja_is_whole(attribute, &index))
        return cse_jinja_item(run, &holder, attribute, value);
    if (attribute->kind != CSE_JINJA_TEXT)
        return cse_jinja_refuse(run, "an attribute is a %s, no text",
                                cse_jinja_kind_name(attribute));
    const char *at = attribute->text.bytes, *end = at + attribute->text.length;
    while (at <= end) {
        const char *dot = memchr(at, '.', (size_t)(end - at));
        const size_t size = (size_t)((dot != NULL ? dot : end) - at);
        cse_jinja_value key = cse_jinja_text_copy(run->arena, at, size);
        holder = *value;
        if (size > 0 && strspn(key.text.bytes, "0123456789") == size)
            key = cse_jinja_integer(strtoll(key.text.bytes, NULL, 10));
        CSE_TRY(cse_jinja_item(run, &holder, &key, value));
        at += size + 1;
    }
    return CSE_OK;
}

static cse_status key_of(cse_jinja_run *run, const cse_jinja_value *value,
                         const cse_jinja_value *attribute, bool case_sensitive,
                         cse_jinja_value *key)
{
    cse_text out = { 0 };
    *key = *value;
    CSE_TRY(follow(run, attribute, key));
    if (case_sensitive || key->kind != CSE_JINJA_TEXT)
        return CSE_OK;
    cse_characters_add_case(&out, key->text.bytes, key->text.length, CSE_LOWER_CASE);
    return cse_jinja_collected(run, &out, key);
}

/* Keys of all values of the list. */
static cse_status keys_of(cse_jinja_run *run, const cse_jinja_list *list,
                          const cse_jinja_value *attribute, bool case_sensitive,
                          cse_jinja_list **keys)
{
    *keys = cse_jinja_list_new(run->arena, CSE_JINJA_LIST, list->count).list;
    for (size_t i = 0; i < list->count; i++) {
        cse_jinja_value key;
        CSE_TRY(key_of(run, &list->values[i], attribute, case_sensitive, &key));
        cse_jinja_list_add(run->arena, *keys, key);
    }
    return CSE_OK;
}

static cse_jinja_value generator(cse_jinja_run *run, const char *name)
{
    cse_jinja_value value = cse_jinja_list_new(run->arena, CSE_JINJA_GENERATOR, 0);
    value.list->name = name;
    return value;
}

/* ---- order ---- */

static cse_status sorted(cse_jinja_run *run, const cse_jinja_list *list, const cse_jinja_list *keys,
                         bool reverse, cse_jinja_value *result)
{
    size_t *order = cse_arena_alloc(run->arena, (list->count + 1) * sizeof *order);
    CSE_TRY(cse_jinja_sort_order(run, keys->values, list->count, reverse, order));
    *result = cse_jinja_list_new(run->arena, CSE_JINJA_LIST, list->count);
    for (size_t i = 0; i < list->count; i++)
        cse_jinja_list_add(run->arena, result->list, list->values[order[i]]);
    return CSE_OK;
}

/* "a,b" sorts by several attributes: keys are lists then. */
static cse_status multiple_keys(cse_jinja_run *run, const cse_jinja_list *list,
                                const cse_jinja_value *attribute, bool case_sensitive,
                                cse_jinja_list **keys)
{
    const char *at = attribute->text.bytes, *end = at + attribute->text.length;
    *keys = cse_jinja_list_new(run->arena, CSE_JINJA_LIST, list->count).list;
    for (size_t i = 0; i < list->count; i++)
        cse_jinja_list_add(run->arena, *keys, cse_jinja_list_new(run->arena, CSE_JINJA_LIST, 2));
    while (at <= end) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const size_t size = (size_t)((comma != NULL ? comma : end) - at);
        const cse_jinja_value one = cse_jinja_text(at, size);
        for (size_t i = 0; i < list->count; i++) {
            cse_jinja_value key;
            CSE_TRY(key_of(run, &list->values[i], &one, case_sensitive, &key));
            cse_jinja_list_add(run->arena, (*keys)->values[i].list, key);
        }
        at += size + 1;
    }
    return CSE_OK;
}

CSE_JINJA_FILTER(sort)
{
    cse_jinja_list *list, *keys;
    const cse_jinja_value attribute = cse_jinja_argument(call, 2, "attribute");
    const bool case_sensitive = cse_jinja_flag_argument(call, 1, "case_sensitive");
    CSE_TRY(cse_jinja_iterate(run, &call->self, &list));
    if (attribute.kind == CSE_JINJA_TEXT &&
        memchr(attribute.text.bytes, ',', attribute.text.length) != NULL)
        CSE_TRY(multiple_keys(run, list, &attribute, case_sensitive, &keys));
    else
        CSE_TRY(keys_of(run, list, &attribute, case_sensitive, &keys));
    return sorted(run, list, keys, cse_jinja_flag_argument(call, 0, "reverse"), result);
}

static cse_jinja_value pairs_of(cse_jinja_run *run, const cse_jinja_dict *dict, cse_jinja_kind kind)
{
    cse_jinja_value pairs = cse_jinja_list_new(run->arena, kind, dict->count);
    for (size_t i = 0; i < dict->count; i++)
        cse_jinja_list_add(run->arena, pairs.list,
                           cse_jinja_pair(run->arena, dict->keys[i], dict->values[i]));
    return pairs;
}

CSE_JINJA_FILTER(dictsort)
{
    cse_jinja_list *keys;
    const cse_jinja_value by = cse_jinja_argument(call, 1, "by");
    const bool by_value = cse_jinja_is_text(&by, "value");
    const cse_jinja_value place = cse_jinja_integer(by_value);
    if (by.kind != CSE_JINJA_ABSENT && !by_value && !cse_jinja_is_text(&by, "key"))
        return cse_jinja_refuse(run, "dictsort sorts by \"key\" or \"value\"");
    if (call->self.kind != CSE_JINJA_DICT)
        return cse_jinja_refuse(run, "dictsort is for a dict, not for a %s",
                                cse_jinja_kind_name(&call->self));
    CSE_TRY(cse_jinja_step(run, call->self.dict->count));
    const cse_jinja_value pairs = pairs_of(run, call->self.dict, CSE_JINJA_LIST);
    CSE_TRY(keys_of(run, pairs.list, &place, cse_jinja_flag_argument(call, 0, "case_sensitive"),
                    &keys));
    return sorted(run, pairs.list, keys, cse_jinja_flag_argument(call, 2, "reverse"), result);
}

static cse_status has_equal(cse_jinja_run *run, const cse_jinja_list *list,
                            const cse_jinja_value *value, bool *has)
{
    *has = false;
    for (size_t i = 0; i < list->count && !*has; i++)
        CSE_TRY(cse_jinja_are_equal(run, &list->values[i], value, has));
    return CSE_OK;
}

CSE_JINJA_FILTER(unique)
{
    cse_jinja_list *list, *keys;
    const cse_jinja_value attribute = cse_jinja_argument(call, 1, "attribute");
    CSE_TRY(cse_jinja_iterate(run, &call->self, &list));
    CSE_TRY(
        keys_of(run, list, &attribute, cse_jinja_flag_argument(call, 0, "case_sensitive"), &keys));
    *result = generator(run, "unique");
    cse_jinja_list *seen = cse_jinja_list_new(run->arena, CSE_JINJA_LIST, 0).list;
    for (size_t i = 0; i < list->count; i++) {
        bool is_seen;
        CSE_TRY(cse_jinja_step(run, 1 + seen->count / 16));
        CSE_TRY(has_equal(run, seen, &keys->values[i], &is_seen));
        if (is_seen)
            continue;
        cse_jinja_list_add(run->arena, seen, keys->values[i]);
        cse_jinja_list_add(run->arena, result->list, list->values[i]);
    }
    return CSE_OK;
}

static cse_status extreme(cse_jinja_run *run, const cse_jinja_call *call, int wanted,
                          cse_jinja_value *result)
{
    cse_jinja_list *list, *keys;
    const cse_jinja_value attribute = cse_jinja_argument(call, 1, "attribute");
    int order;
    size_t best = 0;
    CSE_TRY(cse_jinja_iterate(run, &call->self, &list));
    CSE_TRY(
        keys_of(run, list, &attribute, cse_jinja_flag_argument(call, 0, "case_sensitive"), &keys));
    for (size_t i = 1; i < list->count; i++) {
        CSE_TRY(cse_jinja_order_of(run, &keys->values[i], &keys->values[best], &order));
        best = order == wanted ? i : best;
    }
    *result = list->count > 0 ? list->values[best] : cse_jinja_undefined("a value of nothing");
    return CSE_OK;
}

CSE_JINJA_FILTER(max)
{
    return extreme(run, call, 1, result);
}

CSE_JINJA_FILTER(min)
{
    return extreme(run, call, -1, result);
}

CSE_JINJA_FILTER(reverse)
{
    cse_jinja_list *list;
    CSE_TRY(cse_jinja_iterate(run, &call->self, &list));
    *result = generator(run, "reverse");
    for (size_t i = list->count; i-- > 0;)
        cse_jinja_list_add(run->arena, result->list, list->values[i]);
    if (call->self.kind != CSE_JINJA_TEXT)
        return CSE_OK;
    cse_text out = { 0 };
    for (size_t i = 0; i < result->list->count; i++)
        cse_jinja_print(&out, &result->list->values[i]);
    return cse_jinja_collected(run, &out, result);
}

/* ---- parts ---- */

CSE_JINJA_FILTER(first)
{
    cse_jinja_list *list;
    const bool is_generator = call->self.kind == CSE_JINJA_GENERATOR;
    if (is_generator)
        list = call->self.list;
    else
        CSE_TRY(cse_jinja_iterate(run, &call->self, &list));
    *result = list->count > 0 ? list->values[0] : cse_jinja_undefined("the first of nothing");
    if (is_generator && list->count > 0) {
        list->values++;
        list->count--;
        list->capacity = list->count;
    }
    return CSE_OK;
}

CSE_JINJA_FILTER(last)
{
    cse_jinja_list *list;
    if (call->self.kind == CSE_JINJA_GENERATOR)
        return cse_jinja_refuse(run, "last is not for a generator: put \"|list\" before it");
    CSE_TRY(cse_jinja_iterate(run, &call->self, &list));
    *result = list->count > 0 ? list->values[list->count - 1]
                              : cse_jinja_undefined("the last of nothing");
    return CSE_OK;
}

CSE_JINJA_FILTER(list)
{
    cse_jinja_list *list;
    CSE_TRY(cse_jinja_iterate(run, &call->self, &list));
    CSE_TRY(cse_jinja_step(run, list->count));
    *result = cse_jinja_list_new(run->arena, CSE_JINJA_LIST, list->count);
    for (size_t i = 0; i < list->count; i++)
        cse_jinja_list_add(run->arena, result->list, list->values[i]);
    return CSE_OK;
}

CSE_JINJA_FILTER(items)
{
    *result = generator(run, "do_items");
    if (call->self.kind == CSE_JINJA_UNDEFINED)
        return CSE_OK;
    if (call->self.kind != CSE_JINJA_DICT)
        return cse_jinja_refuse(run, "items is for a dict, not for a %s",
                                cse_jinja_kind_name(&call->self));
    CSE_TRY(cse_jinja_step(run, call->self.dict->count));
    *result = pairs_of(run, call->self.dict, CSE_JINJA_GENERATOR);
    result->list->name = "do_items";
    return CSE_OK;
}

CSE_JINJA_FILTER(attr)
{
    const cse_jinja_value given = cse_jinja_argument(call, 0, "name");
    const char *name = cse_jinja_name_of(run->arena, &given);
    if (name[0] == '\0')
        return cse_jinja_refuse(run, "attr takes a name");
    *result = cse_jinja_undefined(name);
    /* Attributes alone, no keys of a dict. */
    return call->self.kind == CSE_JINJA_DICT &&
                   cse_jinja_function_find(&cse_jinja_dict_methods, name) == NULL
               ? CSE_OK
               : cse_jinja_attribute(run, &call->self, name, result);
}

CSE_JINJA_FILTER(join)
{
    cse_jinja_list *list;
    cse_text out = { 0 };
    const cse_jinja_value between = cse_jinja_argument(call, 0, "d");
    const cse_jinja_value attribute = cse_jinja_argument(call, 1, "attribute");
    CSE_TRY(cse_jinja_iterate(run, &call->self, &list));
    if (attribute.kind > CSE_JINJA_NONE)
        CSE_TRY(keys_of(run, list, &attribute, true, &list));
    for (size_t i = 0; i < list->count && out.size < CSE_JINJA_MOST_BYTES; i++) {
        if (i > 0)
            cse_jinja_print(&out, &between);
        cse_jinja_print(&out, &list->values[i]);
    }
    return cse_jinja_collected(run, &out, result);
}

CSE_JINJA_FILTER(sum)
{
    cse_jinja_list *list;
    const cse_jinja_value attribute = cse_jinja_argument(call, 0, "attribute");
    const cse_jinja_value start = cse_jinja_argument(call, 1, "start");
    CSE_TRY(cse_jinja_iterate(run, &call->self, &list));
    CSE_TRY(keys_of(run, list, &attribute, true, &list));
    *result = start.kind == CSE_JINJA_ABSENT ? cse_jinja_integer(0) : start;
    for (size_t i = 0; i < list->count; i++) {
        const cse_jinja_value before = *result;
        CSE_TRY(cse_jinja_binary(run, "+", &before, &list->values[i], result));
    }
    return CSE_OK;
}

/* ---- groups ---- */

static cse_status read_count(cse_jinja_run *run, const cse_jinja_call *call, const char *name,
                             int64_t *count)
{
    *count = 0;
    CSE_TRY(cse_jinja_whole_argument(run, call, 0, name, count));
    return *count >= 1 && *count <= 1000000
               ? CSE_OK
               : cse_jinja_refuse(run, "%s is not from 1 to 1000000", name);
}

CSE_JINJA_FILTER(batch)
{
    cse_jinja_list *list, *row = NULL;
    int64_t width;
    const cse_jinja_value fill = cse_jinja_argument(call, 1, "fill_with");
    CSE_TRY(read_count(run, call, "linecount", &width));
    CSE_TRY(cse_jinja_iterate(run, &call->self, &list));
    CSE_TRY(cse_jinja_step(run, list->count));
    *result = generator(run, "do_batch");
    for (size_t i = 0; i < list->count; i++) {
        if (i % (size_t)width == 0) {
            const cse_jinja_value next = cse_jinja_list_new(run->arena, CSE_JINJA_LIST, 0);
            row = next.list;
            cse_jinja_list_add(run->arena, result->list, next);
        }
        cse_jinja_list_add(run->arena, row, list->values[i]);
    }
    while (row != NULL && fill.kind > CSE_JINJA_NONE && row->count < (size_t)width) {
        CSE_TRY(cse_jinja_step(run, 1));
        cse_jinja_list_add(run->arena, row, fill);
    }
    return CSE_OK;
}

CSE_JINJA_FILTER(slice)
{
    cse_jinja_list *list;
    int64_t slices;
    size_t at = 0;
    const cse_jinja_value fill = cse_jinja_argument(call, 1, "fill_with");
    CSE_TRY(read_count(run, call, "slices", &slices));
    CSE_TRY(cse_jinja_iterate(run, &call->self, &list));
    CSE_TRY(cse_jinja_step(run, list->count + (size_t)slices));
    *result = generator(run, "sync_do_slice");
    const size_t least = list->count / (size_t)slices, longer = list->count % (size_t)slices;
    for (size_t i = 0; i < (size_t)slices; i++) {
        cse_jinja_value row = cse_jinja_list_new(run->arena, CSE_JINJA_LIST, 0);
        const size_t count = least + (i < longer);
        for (size_t j = 0; j < count; j++)
            cse_jinja_list_add(run->arena, row.list, list->values[at++]);
        if (fill.kind > CSE_JINJA_NONE && i >= longer)
            cse_jinja_list_add(run->arena, row.list, fill);
        cse_jinja_list_add(run->arena, result->list, row);
    }
    return CSE_OK;
}

/* Pairs of a key and the values that have it, in the order of keys. */
CSE_JINJA_FILTER(groupby)
{
    cse_jinja_list *list, *keys, *plain;
    cse_jinja_value group = cse_jinja_none(), ordered;
    const cse_jinja_value attribute = cse_jinja_argument(call, 0, "attribute");
    const cse_jinja_value other = cse_jinja_argument(call, 1, "default");
    const bool case_sensitive = cse_jinja_flag_argument(call, 2, "case_sensitive");
    if (other.kind != CSE_JINJA_ABSENT)
        return cse_jinja_refuse(run, "groupby has no \"default\" here");
    CSE_TRY(cse_jinja_iterate(run, &call->self, &list));
    CSE_TRY(keys_of(run, list, &attribute, case_sensitive, &keys));
    CSE_TRY(sorted(run, list, keys, false, &ordered));
    CSE_TRY(keys_of(run, ordered.list, &attribute, case_sensitive, &keys));
    CSE_TRY(keys_of(run, ordered.list, &attribute, true, &plain));
    *result = cse_jinja_list_new(run->arena, CSE_JINJA_LIST, 0);
    for (size_t i = 0; i < keys->count; i++) {
        bool goes_on = false;
        if (i > 0)
            CSE_TRY(cse_jinja_are_equal(run, &keys->values[i], &keys->values[i - 1], &goes_on));
        if (!goes_on) {
            group = cse_jinja_list_new(run->arena, CSE_JINJA_LIST, 0);
            cse_jinja_list_add(run->arena, result->list,
                               cse_jinja_pair(run->arena, plain->values[i], group));
        }
        cse_jinja_list_add(run->arena, group.list, ordered.list->values[i]);
    }
    return CSE_OK;
}

/* ---- map, select, reject ---- */

/* The arguments behind the first `used` ones, upon another value. */
static cse_jinja_call rest_of(const cse_jinja_call *call, size_t used)
{
    cse_jinja_call rest = *call;
    used = used < call->count ? used : call->count;
    rest.values = used > 0 ? rest.values + used : rest.values;
    rest.count -= used;
    return rest;
}

static cse_status named_function(cse_jinja_run *run, const cse_jinja_call *call, size_t place,
                                 bool is_test, const cse_jinja_function **function)
{
    const char *name = cse_jinja_name_of(run->arena, &call->values[place]);
    *function = cse_jinja_function_find(is_test ? run->tests : run->filters, name);
    return *function != NULL ? CSE_OK
                             : cse_jinja_refuse(run, "%s: there is no %s of the name \"%.100s\"",
                                                call->name, is_test ? "test" : "filter", name);
}

static cse_status map_attribute(cse_jinja_run *run, const cse_jinja_call *call,
                                cse_jinja_list *list, cse_jinja_value *result)
{
    const cse_jinja_value attribute = cse_jinja_argument(call, call->count, "attribute");
    const cse_jinja_value other = cse_jinja_argument(call, call->count, "default");
    cse_jinja_list *keys;
    if (call->named_count > 1 + (other.kind != CSE_JINJA_ABSENT))
        return cse_jinja_refuse(run, "map takes \"attribute\" and \"default\", and nothing else");
    CSE_TRY(keys_of(run, list, &attribute, true, &keys));
    for (size_t i = 0; i < keys->count; i++) {
        const bool is_missing =
            keys->values[i].kind == CSE_JINJA_UNDEFINED && other.kind > CSE_JINJA_NONE;
        cse_jinja_list_add(run->arena, result->list, is_missing ? other : keys->values[i]);
    }
    return CSE_OK;
}

CSE_JINJA_FILTER(map)
{
    cse_jinja_list *list;
    const cse_jinja_function *function;
    const cse_jinja_value attribute = cse_jinja_argument(call, call->count, "attribute");
    CSE_TRY(cse_jinja_iterate(run, &call->self, &list));
    *result = generator(run, "sync_do_map");
    if (call->count == 0 && attribute.kind != CSE_JINJA_ABSENT)
        return map_attribute(run, call, list, result);
    if (call->count == 0)
        return cse_jinja_refuse(run, "map takes the name of a filter, or attribute=...");
    CSE_TRY(named_function(run, call, 0, false, &function));
    cse_jinja_call one = rest_of(call, 1);
    one.name = function->name;
    for (size_t i = 0; i < list->count; i++) {
        cse_jinja_value value;
        CSE_TRY(cse_jinja_step(run, 1));
        one.self = list->values[i];
        CSE_TRY(cse_jinja_apply(run, function, &one, &value));
        cse_jinja_list_add(run->arena, result->list, value);
    }
    return CSE_OK;
}

/* Those for which the test holds, or does not; of an attribute where `with_attribute`. */
static cse_status choose(cse_jinja_run *run, const cse_jinja_call *call, bool with_attribute,
                         bool wanted, cse_jinja_value *result)
{
    cse_jinja_list *list;
    const cse_jinja_function *function = NULL;
    const cse_jinja_value absent = { .kind = CSE_JINJA_ABSENT };
    const cse_jinja_value *attribute = with_attribute ? &call->values[0] : &absent;
    const size_t place = with_attribute ? 1 : 0;
    CSE_TRY(cse_jinja_iterate(run, &call->self, &list));
    if (call->count > place)
        CSE_TRY(named_function(run, call, place, true, &function));
    else if (call->named_count > 0)
        return cse_jinja_refuse(run, "%s takes \"%.100s\" behind the name of a test alone",
                                call->name, call->names[0]);
    cse_jinja_call one = rest_of(call, place + 1);
    *result = generator(run, "select_or_reject");
    for (size_t i = 0; i < list->count; i++) {
        cse_jinja_value held;
        CSE_TRY(cse_jinja_step(run, 1));
        one.self = list->values[i];
        CSE_TRY(follow(run, attribute, &one.self));
        held = one.self;
        if (function != NULL)
            CSE_TRY(cse_jinja_apply(run, function, &one, &held));
        if (cse_jinja_is_true(&held) == wanted)
            cse_jinja_list_add(run->arena, result->list, list->values[i]);
    }
    return CSE_OK;
}

CSE_JINJA_FILTER(select)
{
    return choose(run, call, false, true, result);
}

CSE_JINJA_FILTER(reject)
{
    return choose(run, call, false, false, result);
}

CSE_JINJA_FILTER(selectattr)
{
    return choose(run, call, true, true, result);
}

CSE_JINJA_FILTER(rejectattr)
{
    return choose(run, call, true, false, result);
}
