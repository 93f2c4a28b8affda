/* A tree is evaluated with the newest values; what depends on one that is missing is unknown. */
#include "run/alerts/alert_expression.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "run/alerts/alert_syntax.h"

struct cse_alert_expression {
    char *text;
    cse_alert_tree tree;
    cse_alert_history series[CSE_ALERT_SERIES_MOST];
    int64_t begun_ms; /* when silences began at the earliest */
    int64_t step, step_ms;
};

/* A value, or none yet. */
typedef struct known {
    bool is, holds;
    double number;
} known;

static cse_alert_view view_of(const cse_alert_expression *e, const cse_alert_node *node)
{
    return (cse_alert_view){ .function = node->function, .window = node->window, .step = e->step };
}

static void reserve(cse_alert_expression *e)
{
    for (int i = 0; i < e->tree.series_count; i++)
        cse_alert_history_reserve(&e->series[i], &(cse_alert_view){ .function = CSE_ALERT_LAST });
    for (int i = 0; i < e->tree.count; i++) {
        const cse_alert_node *node = &e->tree.nodes[i];
        if (node->kind == CSE_ALERT_SERIES) {
            const cse_alert_view view = view_of(e, node);
            cse_alert_history_reserve(&e->series[node->series], &view);
        }
    }
}

cse_status cse_alert_expression_parse(const char *text, cse_alert_expression **expression)
{
    cse_alert_expression *e = cse_calloc(1, sizeof *e);
    *expression = NULL;
    const cse_status status = cse_alert_tree_parse(text, &e->tree);
    if (status != CSE_OK) {
        free(e);
        return status;
    }
    e->text = cse_strdup(text);
    reserve(e);
    *expression = e;
    return CSE_OK;
}

void cse_alert_expression_destroy(cse_alert_expression **expression)
{
    cse_alert_expression *e = *expression;
    for (int i = 0; e != NULL && i < e->tree.series_count; i++)
        cse_alert_history_clear(&e->series[i]);
    if (e != NULL)
        free(e->text);
    free(e);
    *expression = NULL;
}

const char *cse_alert_expression_text(const cse_alert_expression *e)
{
    return e->text;
}

int cse_alert_expression_series_count(const cse_alert_expression *e)
{
    return e->tree.series_count;
}

const char *cse_alert_expression_series(const cse_alert_expression *e, int index)
{
    return e->tree.series[index];
}

bool cse_alert_expression_knows(const cse_alert_expression *e, int index)
{
    return e->series[index].count > 0;
}

void cse_alert_expression_forget(cse_alert_expression *e)
{
    for (int i = 0; i < e->tree.series_count; i++)
        cse_alert_history_clear(&e->series[i]);
    reserve(e);
    e->begun_ms = e->step = e->step_ms = 0;
}

void cse_alert_expression_add(cse_alert_expression *e, int index, const cse_alert_value *v)
{
    cse_alert_history_add(&e->series[index], v->step, v->value, v->time_ms);
}

void cse_alert_expression_step(cse_alert_expression *e, int64_t step, int64_t time_ms)
{
    e->step = step;
    e->step_ms = time_ms;
}

void cse_alert_expression_begin(cse_alert_expression *e, int64_t time_ms)
{
    e->begun_ms = time_ms;
}

/* ---- values ---- */

static int64_t silent_since(const cse_alert_expression *e, const cse_alert_node *node)
{
    const int64_t last = node->series < 0 ? e->step_ms : e->series[node->series].time_ms;
    return last > e->begun_ms ? last : e->begun_ms;
}

static double calculate(cse_alert_node_kind kind, double left, double right)
{
    switch (kind) {
    case CSE_ALERT_NEGATIVE:
        return -left;
    case CSE_ALERT_ADD:
        return left + right;
    case CSE_ALERT_SUBTRACT:
        return left - right;
    case CSE_ALERT_MULTIPLY:
        return left * right;
    default:
        return left / right;
    }
}

static bool compare(cse_alert_node_kind kind, double left, double right)
{
    if (isnan(left) || isnan(right))
        return false;
    switch (kind) {
    case CSE_ALERT_LESS:
        return left < right;
    case CSE_ALERT_LESS_EQUAL:
        return left <= right;
    case CSE_ALERT_GREATER:
        return left > right;
    case CSE_ALERT_GREATER_EQUAL:
        return left >= right;
    case CSE_ALERT_EQUAL:
        return left == right;
    default:
        return left != right;
    }
}

/* Of values that may not be known: false and anything is false, true or anything is true. */
static known combine(cse_alert_node_kind kind, known left, known right)
{
    const bool decides = kind == CSE_ALERT_OR;
    if ((left.is && left.holds == decides) || (right.is && right.holds == decides))
        return (known){ .is = true, .holds = decides };
    return (known){ .is = left.is && right.is, .holds = !decides };
}

static known evaluate(const cse_alert_expression *e, int index, int64_t now_ms)
{
    const cse_alert_node *node = &e->tree.nodes[index];
    known value = { .is = true };
    cse_alert_view view;
    switch (node->kind) {
    case CSE_ALERT_NUMBER:
        value.number = node->number;
        return value;
    case CSE_ALERT_SERIES:
        view = view_of(e, node);
        value.is = cse_alert_history_value(&e->series[node->series], &view, &value.number);
        return value;
    case CSE_ALERT_SILENCE:
        value.holds = (double)(now_ms - silent_since(e, node)) >= node->number * 1e3;
        value.is = silent_since(e, node) > 0;
        return value;
    default:
        break;
    }
    const known left = evaluate(e, node->left, now_ms);
    const known right = node->right >= 0 ? evaluate(e, node->right, now_ms) : left;
    if (node->kind == CSE_ALERT_AND || node->kind == CSE_ALERT_OR)
        return combine(node->kind, left, right);
    value.is = left.is && right.is;
    if (!value.is)
        return value;
    if (node->kind == CSE_ALERT_NOT)
        value.holds = !left.holds;
    else if (node->kind == CSE_ALERT_FINITE)
        value.holds = isfinite(left.number);
    else if (node->kind >= CSE_ALERT_LESS)
        value.holds = compare(node->kind, left.number, right.number);
    else
        value.number = calculate(node->kind, left.number, right.number);
    return value;
}

bool cse_alert_expression_holds(const cse_alert_expression *e, int64_t now_ms)
{
    const known value = evaluate(e, e->tree.root, now_ms);
    return value.is && value.holds;
}

int64_t cse_alert_expression_due(const cse_alert_expression *e, int64_t now_ms)
{
    int64_t due = INT64_MAX;
    for (int i = 0; i < e->tree.count; i++) {
        const cse_alert_node *node = &e->tree.nodes[i];
        if (node->kind != CSE_ALERT_SILENCE || silent_since(e, node) == 0)
            continue;
        const int64_t at = silent_since(e, node) + (int64_t)ceil(node->number * 1e3);
        due = at > now_ms && at < due ? at : due;
    }
    return due;
}

void cse_alert_expression_describe(const cse_alert_expression *e, int64_t now_ms, cse_text *text)
{
    const char *before = "";
    for (int i = 0; i < e->tree.count; i++) {
        const cse_alert_node *node = &e->tree.nodes[i];
        if (node->kind == CSE_ALERT_SILENCE && silent_since(e, node) > 0) {
            cse_text_add(text, "%sno %s for %.0f s", before,
                         node->series < 0 ? "step" : e->tree.series[node->series],
                         (double)(now_ms - silent_since(e, node)) * 1e-3);
            before = ", ";
        }
        const known value =
            node->kind == CSE_ALERT_SERIES ? evaluate(e, i, now_ms) : (known){ .is = false };
        if (!value.is)
            continue;
        const char *name = e->tree.series[node->series];
        if (node->window > 0)
            cse_text_add(text, "%s%s(%s, %d) %.6g", before, cse_alert_function_name(node->function),
                         name, node->window, value.number);
        else if (node->function == CSE_ALERT_LAST)
            cse_text_add(text, "%s%s %.6g", before, name, value.number);
        else
            cse_text_add(text, "%s%s(%s) %.6g", before, cse_alert_function_name(node->function),
                         name, value.number);
        before = ", ";
    }
}
