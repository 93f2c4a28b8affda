/* Functions that every template can call. */
#include <string.h>

#include "dataloader/chat/functions.h"

#define FUNCTION(name) \
    static cse_status name(cse_jinja_run *run, const cse_jinja_call *call, cse_jinja_value *result)

/* What the template itself has to say about its messages. */
FUNCTION(raise_exception)
{
    const cse_jinja_value given = cse_jinja_argument(call, 0, "message");
    cse_jinja_value message;
    CSE_TRY(cse_jinja_str(run, &given, &message));
    (void)result;
    return cse_jinja_refuse(run, "refused by the template: %.*s",
                            (int)(message.text.length < 900 ? message.text.length : 900),
                            message.text.bytes);
}

FUNCTION(strftime_now)
{
    cse_jinja_value format = cse_jinja_argument(call, 0, "format"), copy;
    char text[1024];
    if (format.kind != CSE_JINJA_TEXT || format.text.length > 200)
        return cse_jinja_refuse(run, "strftime_now takes a text of at most 200 bytes");
    if (format.text.length == 0) {
        *result = format;
        return CSE_OK;
    }
    copy = cse_jinja_text_copy(run->arena, format.text.bytes, format.text.length);
    const size_t length = strftime(text, sizeof text, copy.text.bytes, run->now);
    *result = cse_jinja_text_copy(run->arena, text, length);
    return CSE_OK;
}

/* range(stop), range(start, stop), range(start, stop, step) */
FUNCTION(range)
{
    int64_t bounds[3] = { 0, 0, 1 }, *first = &bounds[call->count == 1 ? 1 : 0];
    cse_text name = { 0 };
    if (call->count < 1 || call->count > 3)
        return cse_jinja_refuse(run, "range takes one to three whole numbers");
    for (size_t i = 0; i < call->count; i++)
        if (!cse_jinja_is_whole(&call->values[i], &first[i]))
            return cse_jinja_refuse(run, "range takes whole numbers, not a %s",
                                    cse_jinja_kind_name(&call->values[i]));
    if (bounds[2] == 0)
        return cse_jinja_refuse(run, "the step of range is 0");
    *result = cse_jinja_list_new(run->arena, CSE_JINJA_RANGE, 0);
    for (int64_t i = bounds[0]; bounds[2] > 0 ? i < bounds[1] : i > bounds[1];) {
        if (result->list->count == 100000)
            return cse_jinja_refuse(run, "a range has more than 100000 numbers");
        CSE_TRY(cse_jinja_step(run, 1));
        cse_jinja_list_add(run->arena, result->list, cse_jinja_integer(i));
        if (__builtin_add_overflow(i, bounds[2], &i))
            break;
    }
    cse_text_add(&name, "range(%lld, %lld", (long long)bounds[0], (long long)bounds[1]);
    if (bounds[2] != 1)
        cse_text_add(&name, ", %lld", (long long)bounds[2]);
    result->list->name = cse_arena_printf(run->arena, "%s)", name.data);
    cse_text_clear(&name);
    return CSE_OK;
}

static cse_status add_pairs(cse_jinja_run *run, const cse_jinja_value *from, cse_jinja_dict *to)
{
    cse_jinja_list *pairs, *pair;
    if (from->kind == CSE_JINJA_DICT) {
        for (size_t i = 0; i < from->dict->count; i++) {
            CSE_TRY(cse_jinja_step(run, 1 + to->count / 16));
            cse_jinja_dict_set(run->arena, to, from->dict->keys[i], from->dict->values[i]);
        }
        return CSE_OK;
    }
    CSE_TRY(cse_jinja_iterate(run, from, &pairs));
    for (size_t i = 0; i < pairs->count; i++) {
        CSE_TRY(cse_jinja_iterate(run, &pairs->values[i], &pair));
        if (pair->count != 2 || pair->values[0].kind < CSE_JINJA_NONE ||
            pair->values[0].kind > CSE_JINJA_TEXT)
            return cse_jinja_refuse(run, "%s takes a dict or pairs of keys and values", "dict");
        CSE_TRY(cse_jinja_step(run, 1 + to->count / 16));
        cse_jinja_dict_set(run->arena, to, pair->values[0], pair->values[1]);
    }
    return CSE_OK;
}

static cse_status make_dict(cse_jinja_run *run, const cse_jinja_call *call, cse_jinja_kind kind,
                            cse_jinja_value *result)
{
    *result = cse_jinja_dict_new(run->arena, kind);
    if (call->count > 1)
        return cse_jinja_refuse(run, "%s takes one argument by place", call->name);
    if (call->count == 1)
        CSE_TRY(add_pairs(run, &call->values[0], result->dict));
    for (size_t i = 0; i < call->named_count; i++)
        cse_jinja_dict_set(run->arena, result->dict, cse_jinja_word(call->names[i]),
                           call->named[i]);
    for (size_t i = 0; kind == CSE_JINJA_NAMESPACE && i < result->dict->count; i++) {
        const cse_jinja_value *key = &result->dict->keys[i];
        if (key->kind == CSE_JINJA_TEXT && key->text.length > 0 && key->text.bytes[0] == '_')
            return cse_jinja_refuse(run, "an attribute whose name begins with \"_\" cannot be set");
    }
    return CSE_OK;
}

FUNCTION(dict)
{
    return make_dict(run, call, CSE_JINJA_DICT, result);
}

FUNCTION(namespace)
{
    return make_dict(run, call, CSE_JINJA_NAMESPACE, result);
}

static const cse_jinja_function globals[] = {
    { "dict", dict, "*,**", 0 },
    { "namespace", namespace, "*,**", 0 },
    { "raise_exception", raise_exception, "message", 1 },
    { "range", range, "*", 1 },
    { "strftime_now", strftime_now, "format", 1 },
};

const cse_jinja_functions cse_jinja_globals = CSE_JINJA_FUNCTIONS(globals);
