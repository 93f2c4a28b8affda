/* Expressions of templates: a walk over the tree. Each kind of node has a function. */
#include <string.h>

#include "dataloader/chat/functions.h"
#include "dataloader/chat/run.h"

/* ---- names and literals ---- */

static cse_status evaluate_name(cse_jinja_run *run, const cse_jinja_node *node,
                                cse_jinja_value *value)
{
    const cse_jinja_value name = cse_jinja_text(node->name, node->name_length);
    for (const cse_jinja_frame *frame = run->frame; frame != NULL; frame = frame->outer) {
        const cse_jinja_value *known = cse_jinja_dict_find(frame->names.dict, &name);
        if (known != NULL) {
            *value = *known;
            return CSE_OK;
        }
    }
    const cse_jinja_function *function = cse_jinja_function_find(&cse_jinja_globals, node->name);
    if (function == NULL || (strcmp(node->name, "strftime_now") == 0 && run->now == NULL)) {
        *value = cse_jinja_undefined(node->name);
        return CSE_OK;
    }
    cse_jinja_callable *callable = cse_arena_alloc(run->arena, sizeof *callable);
    callable->function = function;
    *value = (cse_jinja_value){ .kind = CSE_JINJA_CALLABLE, .callable = callable };
    return CSE_OK;
}

static cse_status evaluate_list(cse_jinja_run *run, const cse_jinja_node *node,
                                cse_jinja_value *value)
{
    const cse_jinja_kind kind = node->kind == CSE_JINJA_LIST_OF ? CSE_JINJA_LIST : CSE_JINJA_TUPLE;
    cse_jinja_value list = cse_jinja_list_new(run->arena, kind, node->items.count), item;
    for (size_t i = 0; i < node->items.count; i++) {
        CSE_TRY(cse_jinja_evaluate(run, node->items.nodes[i], &item));
        cse_jinja_list_add(run->arena, list.list, item);
    }
    *value = list;
    return CSE_OK;
}

static cse_status check_key(const cse_jinja_run *run, const cse_jinja_value *key)
{
    return key->kind >= CSE_JINJA_NONE && key->kind <= CSE_JINJA_TEXT
               ? CSE_OK
               : cse_jinja_refuse(run, "a value of the kind %s is no key of a dict",
                                  cse_jinja_kind_name(key));
}

static cse_status evaluate_dict(cse_jinja_run *run, const cse_jinja_node *node,
                                cse_jinja_value *value)
{
    cse_jinja_value dict = cse_jinja_dict_new(run->arena, CSE_JINJA_DICT), key, item;
    for (size_t i = 0; i < node->items.count; i += 2) {
        CSE_TRY(cse_jinja_evaluate(run, node->items.nodes[i], &key));
        CSE_TRY(check_key(run, &key));
        CSE_TRY(cse_jinja_evaluate(run, node->items.nodes[i + 1], &item));
        cse_jinja_dict_set(run->arena, dict.dict, key, item);
        CSE_TRY(cse_jinja_step(run, dict.dict->count / 16));
    }
    *value = dict;
    return CSE_OK;
}

/* ---- parts of values ---- */

static cse_status evaluate_attribute(cse_jinja_run *run, const cse_jinja_node *node,
                                     cse_jinja_value *value)
{
    cse_jinja_value first;
    CSE_TRY(cse_jinja_evaluate(run, node->first, &first));
    run->at = node;
    return cse_jinja_attribute(run, &first, node->name, value);
}

static cse_status evaluate_item(cse_jinja_run *run, const cse_jinja_node *node,
                                cse_jinja_value *value)
{
    cse_jinja_value first, key;
    CSE_TRY(cse_jinja_evaluate(run, node->first, &first));
    CSE_TRY(cse_jinja_evaluate(run, node->second, &key));
    run->at = node;
    return cse_jinja_item(run, &first, &key, value);
}

static cse_status evaluate_slice(cse_jinja_run *run, const cse_jinja_node *node,
                                 cse_jinja_value *value)
{
    cse_jinja_value first, bounds[3] = { 0 };
    CSE_TRY(cse_jinja_evaluate(run, node->first, &first));
    for (int i = 0; i < 3; i++)
        if (node->items.nodes[i] != NULL)
            CSE_TRY(cse_jinja_evaluate(run, node->items.nodes[i], &bounds[i]));
    run->at = node;
    return cse_jinja_slice(run, &first, bounds, value);
}

/* ---- calls ---- */

static cse_status spread(cse_jinja_run *run, const cse_jinja_node *node, cse_jinja_list *values)
{
    cse_jinja_value rest;
    cse_jinja_list *more;
    CSE_TRY(cse_jinja_evaluate(run, node, &rest));
    CSE_TRY(cse_jinja_iterate(run, &rest, &more));
    for (size_t i = 0; i < more->count; i++)
        cse_jinja_list_add(run->arena, values, more->values[i]);
    return CSE_OK;
}

static cse_status add_named(cse_jinja_run *run, cse_jinja_call *call, const char *name,
                            const cse_jinja_value *value)
{
    const char **names = (const char **)(uintptr_t)call->names;
    cse_jinja_value *named = (cse_jinja_value *)(uintptr_t)call->named;
    for (size_t i = 0; i < call->named_count; i++)
        if (strcmp(names[i], name) == 0)
            return cse_jinja_refuse(run, "the argument \"%s\" is given twice", name);
    names[call->named_count] = name;
    named[call->named_count++] = *value;
    return CSE_OK;
}

/* Arguments of a node, in their order. */
static cse_status evaluate_arguments(cse_jinja_run *run, const cse_jinja_node *node,
                                     cse_jinja_call *call)
{
    cse_jinja_value value, rest = { 0 };
    cse_jinja_value values = cse_jinja_list_new(run->arena, CSE_JINJA_LIST, node->items.count);
    for (size_t i = 0; i < node->items.count; i++) {
        CSE_TRY(cse_jinja_evaluate(run, node->items.nodes[i], &value));
        cse_jinja_list_add(run->arena, values.list, value);
    }
    if (node->rest != NULL)
        CSE_TRY(spread(run, node->rest, values.list));
    if (node->named_rest != NULL) {
        CSE_TRY(cse_jinja_evaluate(run, node->named_rest, &rest));
        if (rest.kind != CSE_JINJA_DICT)
            return cse_jinja_refuse(run, "what stands behind ** is no dict");
    }
    const size_t more = rest.kind == CSE_JINJA_DICT ? rest.dict->count : 0;
    call->values = values.list->values;
    call->count = values.list->count;
    /* with room for one more */
    call->names = cse_arena_alloc(run->arena, (node->named.count + more + 1) * sizeof(char *));
    call->named = cse_arena_alloc(run->arena, (node->named.count + more + 1) * sizeof value);
    for (size_t i = 0; i < node->named.count; i++) {
        CSE_TRY(cse_jinja_evaluate(run, node->named.nodes[i], &value));
        CSE_TRY(add_named(run, call, node->names[i], &value));
    }
    for (size_t i = 0; i < more; i++) {
        cse_jinja_value key;
        CSE_TRY(cse_jinja_str(run, &rest.dict->keys[i], &key));
        key = cse_jinja_text_copy(run->arena, key.text.bytes, key.text.length);
        CSE_TRY(add_named(run, call, key.text.bytes, &rest.dict->values[i]));
    }
    return CSE_OK;
}

cse_status cse_jinja_evaluate_call_with(cse_jinja_run *run, const cse_jinja_node *node,
                                        const char *name, const cse_jinja_value *argument,
                                        cse_jinja_value *value)
{
    cse_jinja_value callee;
    cse_jinja_call call = { 0 };
    CSE_TRY(cse_jinja_evaluate(run, node->first, &callee));
    CSE_TRY(evaluate_arguments(run, node, &call));
    run->at = node;
    if (name != NULL)
        CSE_TRY(add_named(run, &call, name, argument));
    return cse_jinja_call_value(run, &callee, &call, value);
}

static cse_status evaluate_call(cse_jinja_run *run, const cse_jinja_node *node,
                                cse_jinja_value *value)
{
    return cse_jinja_evaluate_call_with(run, node, NULL, NULL, value);
}

/* A filter or a test. */
static cse_status evaluate_function(cse_jinja_run *run, const cse_jinja_node *node,
                                    cse_jinja_value *value)
{
    cse_jinja_call call = { .name = node->name };
    if (node->function == NULL)
        return cse_jinja_refuse_function(run->source, node);
    CSE_TRY(cse_jinja_evaluate(run, node->first, &call.self));
    CSE_TRY(evaluate_arguments(run, node, &call));
    run->at = node;
    return cse_jinja_apply(run, node->function, &call, value);
}

cse_status cse_jinja_evaluate_upon(cse_jinja_run *run, const cse_jinja_node *filters,
                                   cse_jinja_value *value)
{
    cse_jinja_call call = { .name = filters->name };
    if (filters->function == NULL)
        return cse_jinja_refuse_function(run->source, filters);
    if (filters->first != NULL)
        CSE_TRY(cse_jinja_evaluate_upon(run, filters->first, value));
    call.self = *value;
    CSE_TRY(evaluate_arguments(run, filters, &call));
    run->at = filters;
    return cse_jinja_apply(run, filters->function, &call, value);
}

/* ---- operators ---- */

static cse_status evaluate_not(cse_jinja_run *run, const cse_jinja_node *node,
                               cse_jinja_value *value)
{
    CSE_TRY(cse_jinja_evaluate(run, node->first, value));
    *value = cse_jinja_boolean(!cse_jinja_is_true(value));
    return CSE_OK;
}

static cse_status evaluate_sign(cse_jinja_run *run, const cse_jinja_node *node,
                                cse_jinja_value *value)
{
    const cse_jinja_value zero = cse_jinja_integer(0);
    cse_jinja_value first;
    CSE_TRY(cse_jinja_evaluate(run, node->first, &first));
    run->at = node;
    if (first.kind == CSE_JINJA_FLOAT) {
        *value = cse_jinja_float(node->kind == CSE_JINJA_NEGATE ? -first.number : first.number);
        return CSE_OK;
    }
    return cse_jinja_binary(run, node->kind == CSE_JINJA_NEGATE ? "-" : "+", &zero, &first, value);
}

static cse_status evaluate_binary(cse_jinja_run *run, const cse_jinja_node *node,
                                  cse_jinja_value *value)
{
    cse_jinja_value first, second;
    CSE_TRY(cse_jinja_evaluate(run, node->first, &first));
    CSE_TRY(cse_jinja_evaluate(run, node->second, &second));
    run->at = node;
    return cse_jinja_binary(run, node->name, &first, &second, value);
}

static cse_status evaluate_concat(cse_jinja_run *run, const cse_jinja_node *node,
                                  cse_jinja_value *value)
{
    cse_text out = { 0 };
    for (size_t i = 0; i < node->items.count; i++) {
        cse_jinja_value item;
        const cse_status status = cse_jinja_evaluate(run, node->items.nodes[i], &item);
        if (status != CSE_OK) {
            cse_text_clear(&out);
            return status;
        }
        if (out.size < CSE_JINJA_MOST_BYTES)
            cse_jinja_print(&out, &item);
    }
    run->at = node;
    return cse_jinja_collected(run, &out, value);
}

static cse_status evaluate_compare(cse_jinja_run *run, const cse_jinja_node *node,
                                   cse_jinja_value *value)
{
    cse_jinja_value left, right;
    bool holds = true;
    CSE_TRY(cse_jinja_evaluate(run, node->first, &left));
    for (size_t i = 0; i < node->items.count && holds; i++) {
        CSE_TRY(cse_jinja_evaluate(run, node->items.nodes[i], &right));
        run->at = node;
        CSE_TRY(cse_jinja_compare(run, node->names[i], &left, &right, &holds));
        left = right;
    }
    *value = cse_jinja_boolean(holds);
    return CSE_OK;
}

/* The value that decided, as in Python. */
static cse_status evaluate_logic(cse_jinja_run *run, const cse_jinja_node *node,
                                 cse_jinja_value *value)
{
    CSE_TRY(cse_jinja_evaluate(run, node->first, value));
    return cse_jinja_is_true(value) == (node->kind == CSE_JINJA_AND)
               ? cse_jinja_evaluate(run, node->second, value)
               : CSE_OK;
}

static cse_status evaluate_condition(cse_jinja_run *run, const cse_jinja_node *node,
                                     cse_jinja_value *value)
{
    CSE_TRY(cse_jinja_evaluate(run, node->second, value));
    if (cse_jinja_is_true(value))
        return cse_jinja_evaluate(run, node->first, value);
    *value = cse_jinja_undefined("the value of an \"if\" without \"else\"");
    return node->third != NULL ? cse_jinja_evaluate(run, node->third, value) : CSE_OK;
}

static cse_status evaluate_constant(cse_jinja_run *run, const cse_jinja_node *node,
                                    cse_jinja_value *value)
{
    (void)run;
    *value = node->value;
    return CSE_OK;
}

typedef cse_status (*evaluator)(cse_jinja_run *run, const cse_jinja_node *node,
                                cse_jinja_value *value);

static const evaluator evaluators[] = {
    [CSE_JINJA_CONSTANT] = evaluate_constant, [CSE_JINJA_NAME] = evaluate_name,
    [CSE_JINJA_LIST_OF] = evaluate_list,      [CSE_JINJA_TUPLE_OF] = evaluate_list,
    [CSE_JINJA_DICT_OF] = evaluate_dict,      [CSE_JINJA_ATTRIBUTE] = evaluate_attribute,
    [CSE_JINJA_ITEM] = evaluate_item,         [CSE_JINJA_SLICE] = evaluate_slice,
    [CSE_JINJA_CALL] = evaluate_call,         [CSE_JINJA_FILTER] = evaluate_function,
    [CSE_JINJA_TEST] = evaluate_function,     [CSE_JINJA_NOT] = evaluate_not,
    [CSE_JINJA_NEGATE] = evaluate_sign,       [CSE_JINJA_POSITIVE] = evaluate_sign,
    [CSE_JINJA_BINARY] = evaluate_binary,     [CSE_JINJA_CONCAT] = evaluate_concat,
    [CSE_JINJA_COMPARE] = evaluate_compare,   [CSE_JINJA_AND] = evaluate_logic,
    [CSE_JINJA_OR] = evaluate_logic,          [CSE_JINJA_CONDITION] = evaluate_condition,
};

cse_status cse_jinja_evaluate(cse_jinja_run *run, const cse_jinja_node *node,
                              cse_jinja_value *value)
{
    run->at = node;
    CSE_TRY(cse_jinja_step(run, 1));
    if (++run->depth > CSE_JINJA_MOST_DEPTH)
        return cse_jinja_refuse(run, "expressions and calls stand in one another more than %d deep",
                                CSE_JINJA_MOST_DEPTH);
    const cse_status status = evaluators[node->kind](run, node, value);
    run->depth--;
    return status;
}
