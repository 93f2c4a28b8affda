/* Tests: what stands behind "is". */
#include <math.h>
#include <string.h>

#include "dataloader/chat/characters.h"
#include "dataloader/chat/functions.h"

#define TEST(name)                                                                \
    static cse_status test_##name(cse_jinja_run *run, const cse_jinja_call *call, \
                                  cse_jinja_value *result)

/* A test that looks at the kind alone. */
#define KIND_TEST(name, condition)                   \
    TEST(name)                                       \
    {                                                \
        const cse_jinja_kind kind = call->self.kind; \
        (void)run;                                   \
        *result = cse_jinja_boolean(condition);      \
        return CSE_OK;                               \
    }

KIND_TEST(boolean, kind == CSE_JINJA_BOOLEAN)
KIND_TEST(callable, kind == CSE_JINJA_CALLABLE || kind == CSE_JINJA_LOOP)
KIND_TEST(defined, kind != CSE_JINJA_UNDEFINED)
/* No value is marked as escaped here. */
KIND_TEST(escaped, kind == CSE_JINJA_ABSENT)
KIND_TEST(no, kind == CSE_JINJA_BOOLEAN && !call->self.boolean)
KIND_TEST(float, kind == CSE_JINJA_FLOAT)
KIND_TEST(integer, kind == CSE_JINJA_INTEGER)
KIND_TEST(iterable, kind == CSE_JINJA_UNDEFINED || kind == CSE_JINJA_TEXT ||
                        kind == CSE_JINJA_DICT || kind == CSE_JINJA_LOOP ||
                        cse_jinja_is_list(&call->self))
KIND_TEST(mapping, kind == CSE_JINJA_DICT)
KIND_TEST(none, kind == CSE_JINJA_NONE)
KIND_TEST(number, kind >= CSE_JINJA_BOOLEAN && kind <= CSE_JINJA_FLOAT)
KIND_TEST(sequence, kind == CSE_JINJA_UNDEFINED || kind == CSE_JINJA_TEXT ||
                        kind == CSE_JINJA_DICT ||
                        (kind >= CSE_JINJA_LIST && kind <= CSE_JINJA_RANGE))
KIND_TEST(string, kind == CSE_JINJA_TEXT)
KIND_TEST(yes, kind == CSE_JINJA_BOOLEAN && call->self.boolean)
KIND_TEST(undefined, kind == CSE_JINJA_UNDEFINED)

static cse_status compare(cse_jinja_run *run, const cse_jinja_call *call, const char *operator,
                          cse_jinja_value * result)
{
    bool holds;
    CSE_TRY(cse_jinja_compare(run, operator, & call->self, &call->values[0], &holds));
    *result = cse_jinja_boolean(holds);
    return CSE_OK;
}

#define COMPARISON(name, operator)                   \
    TEST(name)                                       \
    {                                                \
        return compare(run, call, operator, result); \
    }

COMPARISON(equal, "==")
COMPARISON(unequal, "!=")
COMPARISON(less, "<")
COMPARISON(greater, ">")
COMPARISON(at_most, "<=")
COMPARISON(at_least, ">=")
COMPARISON(in, "in")

static cse_status rest(cse_jinja_run *run, const cse_jinja_call *call, int64_t divisor,
                       cse_jinja_value *result)
{
    const cse_jinja_value by = cse_jinja_integer(divisor);
    return cse_jinja_binary(run, "%", &call->self, &by, result);
}

TEST(even)
{
    CSE_TRY(rest(run, call, 2, result));
    *result = cse_jinja_boolean(!cse_jinja_is_true(result));
    return CSE_OK;
}

TEST(odd)
{
    CSE_TRY(rest(run, call, 2, result));
    *result = cse_jinja_boolean(cse_jinja_is_true(result));
    return CSE_OK;
}

TEST(divisibleby)
{
    CSE_TRY(cse_jinja_binary(run, "%", &call->self, &call->values[0], result));
    *result = cse_jinja_boolean(!cse_jinja_is_true(result));
    return CSE_OK;
}

TEST(sameas)
{
    const cse_jinja_value *a = &call->self, *b = &call->values[0];
    bool is_same = false;
    if (a->kind == b->kind && cse_jinja_is_list(a))
        is_same = a->list == b->list;
    else if (a->kind == b->kind && a->kind == CSE_JINJA_DICT)
        is_same = a->dict == b->dict;
    else if (a->kind == b->kind)
        CSE_TRY(cse_jinja_are_equal(run, a, b, &is_same));
    *result = cse_jinja_boolean(is_same);
    return CSE_OK;
}

static cse_status has_case(cse_jinja_run *run, const cse_jinja_call *call, const char *method,
                           cse_jinja_value *result)
{
    cse_jinja_call of_text = { 0 };
    CSE_TRY(cse_jinja_str(run, &call->self, &of_text.self));
    return cse_jinja_function_find(&cse_jinja_text_methods, method)->apply(run, &of_text, result);
}

TEST(lower)
{
    return has_case(run, call, "islower", result);
}

TEST(upper)
{
    return has_case(run, call, "isupper", result);
}

TEST(filter)
{
    const char *name = cse_jinja_name_of(run->arena, &call->self);
    *result = cse_jinja_boolean(cse_jinja_function_find(run->filters, name) != NULL);
    return CSE_OK;
}

TEST(test)
{
    const char *name = cse_jinja_name_of(run->arena, &call->self);
    *result = cse_jinja_boolean(cse_jinja_function_find(run->tests, name) != NULL);
    return CSE_OK;
}

/* clang-format off */
static const cse_jinja_function tests[] = {
    { "!=", test_unequal, "other", 1 },
    { "<", test_less, "other", 1 },
    { "<=", test_at_most, "other", 1 },
    { "==", test_equal, "other", 1 },
    { ">", test_greater, "other", 1 },
    { ">=", test_at_least, "other", 1 },
    { "boolean", test_boolean, NULL, 0 },
    { "callable", test_callable, NULL, 0 },
    { "defined", test_defined, NULL, 0 },
    { "divisibleby", test_divisibleby, "num", 1 },
    { "eq", test_equal, "other", 1 },
    { "equalto", test_equal, "other", 1 },
    { "escaped", test_escaped, NULL, 0 },
    { "even", test_even, NULL, 0 },
    { "false", test_no, NULL, 0 },
    { "filter", test_filter, NULL, 0 },
    { "float", test_float, NULL, 0 },
    { "ge", test_at_least, "other", 1 },
    { "greaterthan", test_greater, "other", 1 },
    { "gt", test_greater, "other", 1 },
    { "in", test_in, "seq", 1 },
    { "integer", test_integer, NULL, 0 },
    { "iterable", test_iterable, NULL, 0 },
    { "le", test_at_most, "other", 1 },
    { "lessthan", test_less, "other", 1 },
    { "lower", test_lower, NULL, 0 },
    { "lt", test_less, "other", 1 },
    { "mapping", test_mapping, NULL, 0 },
    { "ne", test_unequal, "other", 1 },
    { "none", test_none, NULL, 0 },
    { "number", test_number, NULL, 0 },
    { "odd", test_odd, NULL, 0 },
    { "sameas", test_sameas, "other", 1 },
    { "sequence", test_sequence, NULL, 0 },
    { "string", test_string, NULL, 0 },
    { "test", test_test, NULL, 0 },
    { "true", test_yes, NULL, 0 },
    { "undefined", test_undefined, NULL, 0 },
    { "upper", test_upper, NULL, 0 },
};
/* clang-format on */

const cse_jinja_functions cse_jinja_tests = CSE_JINJA_FUNCTIONS(tests);
