/* Operators of templates, with the meaning of Python's. Whole numbers have 64 bits: what does not
 * fit is refused. */
#include <math.h>
#include <string.h>

#include "dataloader/chat/format_text.h"
#include "dataloader/chat/run.h"

static cse_status refuse_kinds(const cse_jinja_run *run, const char *operator,
                               const cse_jinja_value * a, const cse_jinja_value *b)
{
    const cse_jinja_value *missing = a->kind == CSE_JINJA_UNDEFINED   ? a
                                     : b->kind == CSE_JINJA_UNDEFINED ? b
                                                                      : NULL;
    if (missing != NULL)
        return cse_jinja_refuse(run, "\"%.100s\" is not defined: \"%s\" needs a value",
                                missing->text.bytes, operator);
    return cse_jinja_refuse(run, "\"%s\" is not for a %s and a %s", operator,
                            cse_jinja_kind_name(a), cse_jinja_kind_name(b));
}

/* ---- numbers ---- */

static int64_t floor_quotient(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static bool power(int64_t a, int64_t b, int64_t *result)
{
    *result = 1;
    if (a == 0 || a == 1 || a == -1) {
        *result = b == 0 ? 1 : a == -1 && b % 2 == 0 ? 1 : a;
        return true;
    }
    for (; b > 0; b--)
        if (__builtin_mul_overflow(*result, a, result))
            return false;
    return true;
}

/* False: the operator gives no whole number of 64 bits. */
static bool whole_result(char operator, int64_t a, int64_t b, int64_t *result)
{
    switch (operator) {
    case '+':
        return !__builtin_add_overflow(a, b, result);
    case '-':
        return !__builtin_sub_overflow(a, b, result);
    case '*':
        return !__builtin_mul_overflow(a, b, result);
    case 'p':
        return power(a, b, result);
    default:
        if (a == INT64_MIN && b == -1)
            return false;
        *result = operator== 'f' ? floor_quotient(a, b) : a - floor_quotient(a, b) * b;
        return true;
    }
}

static double float_result(char operator, double a, double b)
{
    switch (operator) {
    case '+':
        return a + b;
    case '-':
        return a - b;
    case '*':
        return a * b;
    case '/':
        return a / b;
    case 'p':
        return pow(a, b);
    case 'f':
        return floor(a / b);
    default: {
        const double rest = fmod(a, b);
        return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
    }
}

static cse_status calculate(cse_jinja_run *run, char operator, const cse_jinja_value * first,
                            const cse_jinja_value *second, cse_jinja_value *result)
{
    int64_t a, b, whole;
    double x, y;
    cse_jinja_is_number(first, &x);
    cse_jinja_is_number(second, &y);
    if (y == 0 && strchr("/f%", operator) != NULL)
        return cse_jinja_refuse(run, "a division by zero");
    if (operator!= '/' && cse_jinja_is_whole(first, &a) && cse_jinja_is_whole(second, &b) &&
        (operator!= 'p' || b >= 0)) {
        if (!whole_result(operator, a, b, &whole))
            return cse_jinja_refuse(run, "a whole number beyond 64 bits");
        *result = cse_jinja_integer(whole);
    } else
        *result = cse_jinja_float(float_result(operator, x, y));
    return CSE_OK;
}

/* ---- texts and lists ---- */

static cse_status join_texts(cse_jinja_run *run, const cse_jinja_value *a, const cse_jinja_value *b,
                             cse_jinja_value *result)
{
    const size_t length = a->text.length + b->text.length;
    if (length >= CSE_JINJA_MOST_BYTES)
        return cse_jinja_refuse(run, "a text has more than %d MB", CSE_JINJA_MOST_BYTES >> 20);
    char *bytes = cse_arena_alloc(run->arena, length + 1);
    memcpy(bytes, a->text.bytes, a->text.length);
    memcpy(bytes + a->text.length, b->text.bytes, b->text.length);
    *result = cse_jinja_text(bytes, length);
    return cse_jinja_step(run, length / 64);
}

static cse_status join_lists(cse_jinja_run *run, const cse_jinja_value *a, const cse_jinja_value *b,
                             cse_jinja_value *result)
{
    const size_t count = a->list->count + b->list->count;
    CSE_TRY(cse_jinja_step(run, count));
    *result = cse_jinja_list_new(run->arena, a->kind, count);
    for (size_t i = 0; i < a->list->count; i++)
        cse_jinja_list_add(run->arena, result->list, a->list->values[i]);
    for (size_t i = 0; i < b->list->count; i++)
        cse_jinja_list_add(run->arena, result->list, b->list->values[i]);
    return CSE_OK;
}

static bool is_repeated(const cse_jinja_value *value)
{
    return value->kind == CSE_JINJA_TEXT || value->kind == CSE_JINJA_LIST ||
           value->kind == CSE_JINJA_TUPLE;
}

static cse_status repeat(cse_jinja_run *run, const cse_jinja_value *value, int64_t times,
                         cse_jinja_value *result)
{
    const bool is_text = value->kind == CSE_JINJA_TEXT;
    const size_t size = is_text ? value->text.length : value->list->count;
    const size_t most = is_text ? CSE_JINJA_MOST_BYTES : CSE_JINJA_MOST_STEPS;
    times = times < 0 || size == 0 ? 0 : times;
    if (size > 0 && (size_t)times > most / size)
        return cse_jinja_refuse(run, "a value is repeated too many times");
    CSE_TRY(cse_jinja_step(run, size * (size_t)times / (is_text ? 64 : 1)));
    if (!is_text) {
        *result = cse_jinja_list_new(run->arena, value->kind, size * (size_t)times);
        for (int64_t i = 0; i < times; i++)
            for (size_t j = 0; j < size; j++)
                cse_jinja_list_add(run->arena, result->list, value->list->values[j]);
        return CSE_OK;
    }
    char *bytes = cse_arena_alloc(run->arena, size * (size_t)times + 1);
    for (int64_t i = 0; i < times; i++)
        memcpy(bytes + size * (size_t)i, value->text.bytes, size);
    *result = cse_jinja_text(bytes, size * (size_t)times);
    return CSE_OK;
}

static char letter_of(const char *operator)
{
    return strcmp(operator, "**") == 0 ? 'p' : strcmp(operator, "//") == 0 ? 'f' : operator[0];
}

cse_status cse_jinja_binary(cse_jinja_run *run, const char *operator, const cse_jinja_value * first,
                            const cse_jinja_value *second, cse_jinja_value *result)
{
    double number;
    int64_t times;
    const char letter = letter_of(operator);
    if (cse_jinja_is_number(first, &number) && cse_jinja_is_number(second, &number))
        return calculate(run, letter, first, second, result);
    if (letter == '+' && first->kind == second->kind) {
        if (first->kind == CSE_JINJA_TEXT)
            return join_texts(run, first, second, result);
        if (first->kind == CSE_JINJA_LIST || first->kind == CSE_JINJA_TUPLE)
            return join_lists(run, first, second, result);
    }
    if (letter == '*' && is_repeated(first) && cse_jinja_is_whole(second, &times))
        return repeat(run, first, times, result);
    if (letter == '*' && is_repeated(second) && cse_jinja_is_whole(first, &times))
        return repeat(run, second, times, result);
    if (letter == '%' && first->kind == CSE_JINJA_TEXT)
        return cse_jinja_percent_format(run, first, second, result);
    return refuse_kinds(run, operator, first, second);
}

/* ---- comparisons ---- */

static cse_status contains(cse_jinja_run *run, const cse_jinja_value *item,
                           const cse_jinja_value *holder, bool *result)
{
    cse_jinja_list *list;
    if (holder->kind == CSE_JINJA_TEXT) {
        if (item->kind != CSE_JINJA_TEXT)
            return refuse_kinds(run, "in", item, holder);
        CSE_TRY(cse_jinja_step(run, holder->text.length / 64));
        *result = item->text.length == 0 || memmem(holder->text.bytes, holder->text.length,
                                                   item->text.bytes, item->text.length) != NULL;
        return CSE_OK;
    }
    CSE_TRY(cse_jinja_iterate(run, holder, &list));
    CSE_TRY(cse_jinja_step(run, list->count / 16));
    *result = false;
    for (size_t i = 0; i < list->count && !*result; i++)
        CSE_TRY(cse_jinja_are_equal(run, &list->values[i], item, result));
    return CSE_OK;
}

cse_status cse_jinja_compare(cse_jinja_run *run, const char *operator,
                             const cse_jinja_value * first, const cse_jinja_value *second,
                             bool *result)
{
    int order = 0;
    int64_t compared = 0;
    if (strcmp(operator, "in") == 0)
        return contains(run, first, second, result);
    if (strcmp(operator, "not in") == 0) {
        CSE_TRY(contains(run, first, second, result));
        *result = !*result;
        return CSE_OK;
    }
    if (operator[1] == '=' &&(operator[0] == '=' || operator[0] == '!')) {
        CSE_TRY(cse_jinja_are_equal(run, first, second, result));
        *result = *result == (operator[0] == '=');
        return CSE_OK;
    }
    if (first->kind == CSE_JINJA_UNDEFINED || !cse_jinja_order(first, second, &order, &compared))
        return refuse_kinds(run, operator, first, second);
    CSE_TRY(cse_jinja_step(run, (size_t)compared / 4));
    *result = operator[0] == '<' ? order < 0 : order> 0;
    *result = *result || (operator[1] == '=' && order == 0);
    return CSE_OK;
}
