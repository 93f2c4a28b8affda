/* Methods of dicts, lists and tuples, and of loops. */
#include <string.h>

#include "dataloader/chat/functions.h"

#define METHOD(name) \
    static cse_status name(cse_jinja_run *run, const cse_jinja_call *call, cse_jinja_value *result)

/* ---- dicts ---- */

METHOD(dict_get)
{
    const cse_jinja_value key = cse_jinja_argument(call, 0, NULL);
    const cse_jinja_value other = cse_jinja_argument(call, 1, NULL);
    const cse_jinja_value *found = cse_jinja_dict_find(call->self.dict, &key);
    CSE_TRY(cse_jinja_step(run, call->self.dict->count / 64));
    *result = found != NULL ? *found : other.kind == CSE_JINJA_ABSENT ? cse_jinja_none() : other;
    return CSE_OK;
}

/* A view of the keys or values of a dict; `values` NULL: of its items. */
static cse_status view(cse_jinja_run *run, const cse_jinja_call *call,
                       const cse_jinja_value *values, cse_jinja_value *result)
{
    const cse_jinja_dict *dict = call->self.dict;
    CSE_TRY(cse_jinja_step(run, dict->count));
    *result = cse_jinja_list_new(run->arena, CSE_JINJA_VIEW, dict->count);
    for (size_t i = 0; i < dict->count; i++)
        cse_jinja_list_add(run->arena, result->list,
                           values != NULL
                               ? values[i]
                               : cse_jinja_pair(run->arena, dict->keys[i], dict->values[i]));
    return CSE_OK;
}

METHOD(dict_items)
{
    CSE_TRY(view(run, call, NULL, result));
    result->list->name = "dict_items";
    return CSE_OK;
}

METHOD(dict_keys)
{
    CSE_TRY(view(run, call, call->self.dict->keys, result));
    result->list->name = "dict_keys";
    return CSE_OK;
}

METHOD(dict_values)
{
    CSE_TRY(view(run, call, call->self.dict->values, result));
    result->list->name = "dict_values";
    return CSE_OK;
}

/* Nothing changes a dict or a list: a copy is the same. */
METHOD(copy)
{
    (void)run;
    *result = call->self;
    return CSE_OK;
}

static const cse_jinja_function dict_methods[] = {
    { "copy", copy, NULL, 0 },          { "get", dict_get, "key,default", 1 },
    { "items", dict_items, NULL, 0 },   { "keys", dict_keys, NULL, 0 },
    { "values", dict_values, NULL, 0 },
};

const cse_jinja_functions cse_jinja_dict_methods = CSE_JINJA_FUNCTIONS(dict_methods);

/* ---- lists ---- */

METHOD(list_count)
{
    int64_t count = 0;
    const cse_jinja_list *list = call->self.list;
    CSE_TRY(cse_jinja_step(run, list->count / 16));
    for (size_t i = 0; i < list->count; i++) {
        bool is_equal;
        CSE_TRY(cse_jinja_are_equal(run, &list->values[i], &call->values[0], &is_equal));
        count += is_equal;
    }
    *result = cse_jinja_integer(count);
    return CSE_OK;
}

METHOD(list_index)
{
    const cse_jinja_list *list = call->self.list;
    CSE_TRY(cse_jinja_step(run, list->count / 16));
    for (size_t i = 0; i < list->count; i++) {
        bool is_equal;
        CSE_TRY(cse_jinja_are_equal(run, &list->values[i], &call->values[0], &is_equal));
        *result = cse_jinja_integer((int64_t)i);
        if (is_equal)
            return CSE_OK;
    }
    return cse_jinja_refuse(run, "index: the value is not in the list");
}

static const cse_jinja_function list_methods[] = {
    { "copy", copy, NULL, 0 },
    { "count", list_count, "*", 1 },
    { "index", list_index, "*", 1 },
};

const cse_jinja_functions cse_jinja_list_methods = CSE_JINJA_FUNCTIONS(list_methods);

/* ---- loops ---- */

METHOD(loop_cycle)
{
    const cse_jinja_loop *loop = call->self.loop;
    if (call->count == 0)
        return cse_jinja_refuse(run, "loop.cycle takes at least one value");
    *result = call->values[loop->index % call->count];
    return CSE_OK;
}

/* Whether the values are others than at the last call. */
METHOD(loop_changed)
{
    cse_jinja_loop *loop = call->self.loop;
    cse_jinja_value values = cse_jinja_list_new(run->arena, CSE_JINJA_TUPLE, call->count);
    for (size_t i = 0; i < call->count; i++)
        cse_jinja_list_add(run->arena, values.list, call->values[i]);
    bool is_same;
    CSE_TRY(cse_jinja_are_equal(run, &loop->changed, &values, &is_same));
    *result = cse_jinja_boolean(!is_same);
    loop->changed = values;
    return CSE_OK;
}

static const cse_jinja_function loop_methods[] = {
    { "changed", loop_changed, "*", 0 },
    { "cycle", loop_cycle, "*", 0 },
};

const cse_jinja_functions cse_jinja_loop_methods = CSE_JINJA_FUNCTIONS(loop_methods);
