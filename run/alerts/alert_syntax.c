/* A parser by recursive descent, a function for each level:
 *
 *   condition = both { "or" both }          both = one { "and" one }
 *   one       = "not" one | "no" NAME "for" NUMBER UNIT | "finite" "(" sum ")" | comparison
 *   comparison = sum ( "<" | "<=" | ">" | ">=" | "=" | "!=" ) sum [ "in" NUMBER ]
 *   sum       = product { ("+" | "-") product }      product = value { ("*" | "/") value }
 *   value     = "-" value | NUMBER | NAME | FUNCTION "(" NAME [ "," NUMBER ] ")"
 *             | "(" condition ")"
 *
 * Parentheses hold a condition or a number; which of them it is, is checked where it is used. */
#include "run/alerts/alert_syntax.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 64, MOST_SHOWN = 20 };

typedef struct parser {
    const char *text, *at;
    cse_alert_tree *tree;
    int depth;
    cse_status status; /* the first failure; then every function returns at once */
} parser;

static const char *const functions[CSE_ALERT_FUNCTIONS] = {
    [CSE_ALERT_LAST] = "last", [CSE_ALERT_MEAN] = "mean",     [CSE_ALERT_MEDIAN] = "median",
    [CSE_ALERT_MIN] = "min",   [CSE_ALERT_MAX] = "max",       [CSE_ALERT_STD] = "std",
    [CSE_ALERT_SUM] = "sum",   [CSE_ALERT_CHANGE] = "change",
};

const char *cse_alert_function_name(cse_alert_function function)
{
    return functions[function];
}

static int condition(parser *p);
static int sum(parser *p);

/* ---- words ---- */

static void skip_spaces(parser *p)
{
    while (isspace((unsigned char)*p->at))
        p->at++;
}

static int fail(parser *p, const char *wanted)
{
    if (p->status != CSE_OK)
        return 0;
    skip_spaces(p);
    p->status = *p->at == '\0'
                    ? cse_fail(CSE_USAGE, "\"%s\" ends too early: expected %s", p->text, wanted)
                    : cse_fail(CSE_USAGE, "\"%s\": at \"%.*s\" (character %d): expected %s",
                               p->text, MOST_SHOWN, p->at, (int)(p->at - p->text) + 1, wanted);
    return 0;
}

static bool is_of_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '/';
}

static size_t name_size(const char *at)
{
    size_t size = 0;
    if (isalpha((unsigned char)*at) || *at == '_')
        while (is_of_name(at[size]))
            size++;
    return size;
}

static bool take_word(parser *p, const char *word)
{
    skip_spaces(p);
    const size_t size = strlen(word);
    if (name_size(p->at) != size || strncmp(p->at, word, size) != 0)
        return false;
    p->at += size;
    return true;
}

static bool take_sign(parser *p, const char *sign)
{
    skip_spaces(p);
    const size_t size = strlen(sign);
    if (strncmp(p->at, sign, size) != 0)
        return false;
    p->at += size;
    return true;
}

static bool take_number(parser *p, double *number)
{
    skip_spaces(p);
    char *end;
    /* Not "inf" or "nan", which strtod takes as well, and no hexadecimal digits. */
    if (!isdigit((unsigned char)*p->at) && *p->at != '.')
        return false;
    if (p->at[0] == '0' && (p->at[1] == 'x' || p->at[1] == 'X'))
        return false;
    *number = strtod(p->at, &end);
    if (end == p->at || !isfinite(*number))
        return false;
    p->at = end;
    return true;
}

static int take_count(parser *p, const char *wanted)
{
    double number = 0;
    const char *before = p->at;
    if (take_number(p, &number) && number == floor(number) && number >= 1 &&
        number <= CSE_ALERT_WINDOW)
        return (int)number;
    p->at = before;
    return fail(p, wanted);
}

/* ---- nodes ---- */

static int add_node(parser *p, cse_alert_node node)
{
    if (p->status != CSE_OK)
        return 0;
    if (p->tree->count == CSE_ALERT_NODES)
        return fail(p, "fewer parts in one condition");
    p->tree->nodes[p->tree->count] = node;
    return p->tree->count++;
}

static bool is_condition(const parser *p, int node)
{
    return p->tree->nodes[node].kind >= CSE_ALERT_LESS;
}

/* The index of the series whose name comes next. */
static int take_series(parser *p, const char *wanted)
{
    cse_alert_tree *tree = p->tree;
    skip_spaces(p);
    const size_t size = name_size(p->at);
    if (size == 0 || size >= CSE_ALERT_NAME_BYTES)
        return fail(p, wanted);
    for (int i = 0; i < tree->series_count; i++)
        if (strncmp(tree->series[i], p->at, size) == 0 && tree->series[i][size] == '\0') {
            p->at += size;
            return i;
        }
    if (tree->series_count == CSE_ALERT_SERIES_MOST)
        return fail(p, "fewer series in one condition");
    memcpy(tree->series[tree->series_count], p->at, size);
    tree->series[tree->series_count][size] = '\0';
    p->at += size;
    return tree->series_count++;
}

static int combine(parser *p, cse_alert_node_kind kind, int left, int right)
{
    if (p->status != CSE_OK)
        return 0;
    const bool of_conditions = kind >= CSE_ALERT_NOT;
    if (is_condition(p, left) != of_conditions ||
        (right >= 0 && is_condition(p, right) != of_conditions))
        return fail(p, of_conditions ? "a condition on each side, as in loss > 3"
                                     : "a number on each side, not a condition");
    return add_node(p, (cse_alert_node){ .kind = kind, .left = left, .right = right });
}

/* ---- values ---- */

static int function_of(parser *p, cse_alert_function function)
{
    cse_alert_node node = { .kind = CSE_ALERT_SERIES, .function = function };
    node.series = take_series(p, "the name of a series");
    if (take_sign(p, ","))
        node.window = take_count(p, "a number of points from 1 to 10000");
    else if (function == CSE_ALERT_MEDIAN && p->status == CSE_OK)
        return fail(p, "a comma and a number of points, as in median(loss, 100)");
    if (!take_sign(p, ")"))
        return fail(p, "a )");
    return add_node(p, node);
}

static int value(parser *p)
{
    double number;
    if (p->status != CSE_OK || ++p->depth > MOST_DEPTH)
        return fail(p, "fewer parentheses");
    int node = 0;
    skip_spaces(p);
    if (take_sign(p, "-"))
        node = combine(p, CSE_ALERT_NEGATIVE, value(p), -1);
    else if (take_number(p, &number))
        node = add_node(p, (cse_alert_node){ .kind = CSE_ALERT_NUMBER, .number = number });
    else if (take_sign(p, "(")) {
        node = condition(p);
        if (!take_sign(p, ")"))
            fail(p, "a )");
    } else {
        const char *before = p->at;
        for (int f = 0; f < CSE_ALERT_FUNCTIONS; f++)
            if (take_word(p, functions[f]) && take_sign(p, "(")) {
                p->depth--;
                return function_of(p, (cse_alert_function)f);
            } else
                p->at = before; /* a series may be called so */
        node = add_node(p, (cse_alert_node){ .kind = CSE_ALERT_SERIES,
                                             .series = take_series(p, "a series or a number") });
    }
    p->depth--;
    return node;
}

static int product(parser *p)
{
    int left = value(p);
    while (p->status == CSE_OK)
        if (take_sign(p, "*"))
            left = combine(p, CSE_ALERT_MULTIPLY, left, value(p));
        else if (take_sign(p, "/"))
            left = combine(p, CSE_ALERT_DIVIDE, left, value(p));
        else
            break;
    return left;
}

static int sum(parser *p)
{
    int left = product(p);
    while (p->status == CSE_OK)
        if (take_sign(p, "+"))
            left = combine(p, CSE_ALERT_ADD, left, product(p));
        else if (take_sign(p, "-"))
            left = combine(p, CSE_ALERT_SUBTRACT, left, product(p));
        else
            break;
    return left;
}

/* ---- conditions ---- */

/* "skipped_steps > 5 in 100": its growth within 100 steps. */
static void within(parser *p, int left)
{
    cse_alert_node *node = &p->tree->nodes[left];
    if (!take_word(p, "in") || p->status != CSE_OK)
        return;
    if (node->kind != CSE_ALERT_SERIES || node->function != CSE_ALERT_LAST || node->window != 0) {
        fail(p, "a series by itself on the left of `in`, as in skipped_steps > 5 in 100");
        return;
    }
    node->function = CSE_ALERT_CHANGE;
    node->window = take_count(p, "a number of steps from 1 to 10000");
}

static int comparison(parser *p)
{
    static const struct {
        const char *sign;
        cse_alert_node_kind kind;
    } signs[] = { { "<=", CSE_ALERT_LESS_EQUAL }, { ">=", CSE_ALERT_GREATER_EQUAL },
                  { "!=", CSE_ALERT_UNEQUAL },    { "==", CSE_ALERT_EQUAL },
                  { "<", CSE_ALERT_LESS },        { ">", CSE_ALERT_GREATER },
                  { "=", CSE_ALERT_EQUAL } };
    const int left = sum(p);
    for (size_t i = 0; p->status == CSE_OK && i < sizeof signs / sizeof signs[0]; i++)
        if (take_sign(p, signs[i].sign)) {
            const int node = combine(p, signs[i].kind, left, sum(p));
            within(p, left);
            return node;
        }
    return left;
}

/* Behind "no". */
static int silence(parser *p)
{
    static const struct {
        const char *word;
        double seconds;
    } units[] = { { "s", 1 },        { "seconds", 1 }, { "min", 60 },
                  { "minutes", 60 }, { "h", 3600 },    { "hours", 3600 } };
    cse_alert_node node = { .kind = CSE_ALERT_SILENCE, .series = -1 };
    if (!take_word(p, "step"))
        node.series = take_series(p, "`step` or the name of a series behind `no`");
    if (!take_word(p, "for") || !take_number(p, &node.number))
        return fail(p, "`for` and a time, as in no step for 60 s");
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (take_word(p, units[i].word)) {
            node.number *= units[i].seconds;
            return add_node(p, node);
        }
    return fail(p, "s, min or h");
}

static int one(parser *p)
{
    if (p->status != CSE_OK || ++p->depth > MOST_DEPTH)
        return fail(p, "fewer parts inside one another");
    int node;
    const char *before = p->at;
    if (take_word(p, "not"))
        node = combine(p, CSE_ALERT_NOT, one(p), -1);
    else if (take_word(p, "no"))
        node = silence(p);
    else if (take_word(p, "finite") && take_sign(p, "(")) {
        node = combine(p, CSE_ALERT_FINITE, sum(p), -1);
        if (!take_sign(p, ")"))
            fail(p, "a )");
    } else {
        p->at = before;
        node = comparison(p);
    }
    p->depth--;
    return node;
}

static int both(parser *p)
{
    int left = one(p);
    while (p->status == CSE_OK && take_word(p, "and"))
        left = combine(p, CSE_ALERT_AND, left, one(p));
    return left;
}

static int condition(parser *p)
{
    int left = both(p);
    while (p->status == CSE_OK && take_word(p, "or"))
        left = combine(p, CSE_ALERT_OR, left, both(p));
    return left;
}

cse_status cse_alert_tree_parse(const char *text, cse_alert_tree *tree)
{
    parser p = { .text = text, .at = text, .tree = tree };
    *tree = (cse_alert_tree){ .count = 0 };
    if (strlen(text) > CSE_ALERT_BYTES)
        return cse_fail(CSE_USAGE, "a condition may have %d characters, this one has %zu",
                        CSE_ALERT_BYTES, strlen(text));
    tree->root = condition(&p);
    skip_spaces(&p);
    if (p.status == CSE_OK && *p.at != '\0')
        fail(&p, "`and`, `or` or the end");
    if (p.status == CSE_OK && !is_condition(&p, tree->root))
        fail(&p, "a comparison, as in loss > 3");
    return p.status;
}
