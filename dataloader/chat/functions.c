/* Calls: arguments by place and name, held against what a function takes. */
#include "dataloader/chat/functions.h"

#include <string.h>

/* Of those in the tables that name them. */
enum { MOST_PARAMETERS = 4 };

/* The place of a name in "a,b,c"; -1: it is not there. */
static int place_of_name(const char *parameters, const char *name)
{
    const size_t size = strlen(name);
    int place = 0;
    for (const char *at = parameters; at != NULL && *at != '\0'; place++) {
        const char *comma = strchr(at, ',');
        const size_t length = comma != NULL ? (size_t)(comma - at) : strlen(at);
        if (length == size && memcmp(at, name, size) == 0)
            return place;
        at = comma != NULL ? comma + 1 : NULL;
    }
    return -1;
}

static size_t count_names(const char *parameters)
{
    size_t count = parameters != NULL;
    for (; parameters != NULL && *parameters != '\0'; parameters++)
        count += *parameters == ',';
    return count;
}

const cse_jinja_function *cse_jinja_function_find(const cse_jinja_functions *table,
                                                  const char *name)
{
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->functions[i].name, name) == 0)
            return &table->functions[i];
    return NULL;
}

void cse_jinja_function_names(const cse_jinja_functions *table, cse_text *text)
{
    for (size_t i = 0; i < table->count; i++)
        cse_text_add(text, "%s%s", i > 0 ? ", " : "", table->functions[i].name);
}

static bool takes_any(const char *parameters)
{
    return parameters != NULL && parameters[0] == '*';
}

/* Of "*" and "*,**". */
static cse_status check_any(const cse_jinja_run *run, const cse_jinja_function *function,
                            const cse_jinja_call *call)
{
    if (call->named_count > 0 && strcmp(function->parameters, "*") == 0)
        return cse_jinja_refuse(run, "%s takes no argument by name, such as \"%.100s\"",
                                function->name, call->names[0]);
    return call->count >= function->needed
               ? CSE_OK
               : cse_jinja_refuse(run, "%s takes at least %zu arguments, not %zu", function->name,
                                  function->needed, call->count);
}

static cse_status check_arguments(const cse_jinja_run *run, const cse_jinja_function *function,
                                  const cse_jinja_call *call)
{
    const char *parameters = function->parameters;
    const size_t most = count_names(parameters);
    if (takes_any(parameters))
        return check_any(run, function, call);
    if (call->count > most)
        return cse_jinja_refuse(run, "%s takes at most %zu arguments, not %zu", function->name,
                                most, call->count);
    size_t given = call->count;
    for (size_t i = 0; i < call->named_count; i++) {
        const int place = place_of_name(parameters, call->names[i]);
        if (place < 0 || (size_t)place < call->count)
            return cse_jinja_refuse(run, "%s %s \"%.100s\"; it takes: %s", function->name,
                                    place < 0 ? "takes no argument" : "is given twice",
                                    call->names[i], parameters != NULL ? parameters : "nothing");
        given += (size_t)place < function->needed;
    }
    return given >= function->needed
               ? CSE_OK
               : cse_jinja_refuse(run, "%s takes at least %zu arguments (%s), not %zu",
                                  function->name, function->needed, parameters, given);
}

cse_status cse_jinja_apply(cse_jinja_run *run, const cse_jinja_function *function,
                           const cse_jinja_call *call, cse_jinja_value *result)
{
    cse_jinja_value values[MOST_PARAMETERS] = { 0 };
    cse_jinja_call bound = *call;
    CSE_TRY(check_arguments(run, function, call));
    if (takes_any(function->parameters))
        return function->apply(run, call, result);
    for (size_t i = 0; i < call->count; i++)
        values[i] = call->values[i];
    for (size_t i = 0; i < call->named_count; i++)
        values[place_of_name(function->parameters, call->names[i])] = call->named[i];
    bound.values = values;
    bound.count = count_names(function->parameters);
    bound.named_count = 0;
    return function->apply(run, &bound, result);
}

cse_jinja_value cse_jinja_argument(const cse_jinja_call *call, size_t place, const char *name)
{
    if (place < call->count)
        return call->values[place];
    for (size_t i = 0; name != NULL && i < call->named_count; i++)
        if (strcmp(call->names[i], name) == 0)
            return call->named[i];
    return (cse_jinja_value){ .kind = CSE_JINJA_ABSENT };
}

cse_status cse_jinja_whole_argument(cse_jinja_run *run, const cse_jinja_call *call, size_t place,
                                    const char *name, int64_t *value)
{
    const cse_jinja_value given = cse_jinja_argument(call, place, name);
    if (given.kind == CSE_JINJA_ABSENT || given.kind == CSE_JINJA_NONE ||
        cse_jinja_is_whole(&given, value))
        return CSE_OK;
    return cse_jinja_refuse(run, "the argument \"%s\" is a %s, no whole number", name,
                            cse_jinja_kind_name(&given));
}

bool cse_jinja_flag_argument(const cse_jinja_call *call, size_t place, const char *name)
{
    const cse_jinja_value given = cse_jinja_argument(call, place, name);
    return cse_jinja_is_true(&given);
}

cse_status cse_jinja_call_value(cse_jinja_run *run, const cse_jinja_value *callee,
                                const cse_jinja_call *call, cse_jinja_value *result)
{
    if (callee->kind == CSE_JINJA_LOOP) {
        if (call->count != 1 || call->named_count > 0)
            return cse_jinja_refuse(run, "loop(...) takes one argument");
        return run->call_loop(run, callee->loop, &call->values[0], result);
    }
    if (callee->kind == CSE_JINJA_UNDEFINED)
        return cse_jinja_refuse(run, "\"%.100s\" is not defined: it cannot be called%s",
                                callee->text.bytes,
                                strcmp(callee->text.bytes, "strftime_now") == 0
                                    ? "; the template asks for the day, which was not given"
                                    : "");
    if (callee->kind != CSE_JINJA_CALLABLE)
        return cse_jinja_refuse(run, "a %s cannot be called", cse_jinja_kind_name(callee));
    const cse_jinja_callable *callable = callee->callable;
    if (callable->macro != NULL)
        return run->call_macro(run, callable, call, result);
    cse_jinja_call bound = *call;
    bound.self = callable->self;
    bound.name = callable->function->name;
    return cse_jinja_apply(run, callable->function, &bound, result);
}
