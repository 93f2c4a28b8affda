/* The file is checked against a table, and each parameter by hand, as its name is a setting's. */
#include "run/sweep/sweep_plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/config/settings.h"
#include "engine/base/random.h"

/* Separates these random numbers from others with the same seed. */
enum { SWEEP_STREAM = 0x73776570 };

static const cse_setting steps_table[] = {
    { "min", CSE_SETTING_INTEGER, NULL, 1, 2147483647.0, NULL, "steps of the first rung", NULL },
    { "max", CSE_SETTING_INTEGER, NULL, 1, 2147483647.0, NULL, "steps of the last rung, at most",
      NULL },
    { "eta", CSE_SETTING_INTEGER, "3", 2, 100, NULL,
      "each rung has this many times the steps, and 1 / eta of the trials", NULL },
    { 0 },
};

static const cse_setting sweep_table[] = {
    { "name", CSE_SETTING_NAME, NULL, 0, 0, NULL, "of the sweep, its folder and its label", NULL },
    { "config", CSE_SETTING_PATH, NULL, 0, 0, NULL, "CONFIG.yaml of all trials", NULL },
    { "method", CSE_SETTING_CHOICE, "random", 0, 0, "grid|random|halving", "how trials are chosen",
      NULL },
    { "trials", CSE_SETTING_INTEGER, "null", 1, CSE_SWEEP_MOST_TRIALS, NULL,
      "of random and halving", NULL },
    { "seed", CSE_SETTING_INTEGER, "1", 0, 9007199254740991.0, NULL, "of the values", NULL },
    { "metric", CSE_SETTING_TEXT, "val_loss", 0, 0, NULL,
      "the series whose last value is compared: val_loss, val_accuracy, loss, ...", NULL },
    { "goal", CSE_SETTING_CHOICE, "null", 0, 0, "min|max",
      "which value is the best; null: min for a loss, max for any other metric", NULL },
    { "parameters", CSE_SETTING_ANY, NULL, 0, 0, NULL,
      "{PATH: [values]}, or {PATH: {uniform|log_uniform|int: [low, high]}}", NULL },
    { "settings", CSE_SETTING_TEXT_LIST, "[]", 0, 0, NULL, "PATH=VALUE of all trials", NULL },
    { "steps", CSE_SETTING_SETTINGS, "{min: 1, max: 1}", 0, 0, NULL, "of halving", steps_table },
    { 0 },
};

static cse_status wrong(cse_place place, const char *what, const char *accepted)
{
    const cse_error error = {
        .status = CSE_CONFIG, .context = "sweep: ", .place = place, .accepted = accepted
    };
    return cse_fail_at(&error, "%s", what);
}

/* ---- parameters ---- */

static const char *printed(cse_arena *arena, const cse_yaml_node *node)
{
    cse_text text = { 0 };
    cse_yaml_print(node, &text);
    while (text.size > 0 && text.data[text.size - 1] == '\n')
        text.data[--text.size] = '\0';
    const char *copy = cse_arena_string(arena, text.data);
    cse_text_clear(&text);
    return copy;
}

static cse_status read_choice(cse_arena *arena, const cse_yaml_node *list, cse_sweep_parameter *p)
{
    if (list->kind != CSE_YAML_SEQUENCE || list->count == 0)
        return wrong(list->place, "a choice is a list of values", "accepted: [1, 2.5, word]");
    p->kind = CSE_SWEEP_CHOICE;
    p->count = list->count;
    p->values = cse_arena_alloc(arena, (size_t)list->count * sizeof *p->values);
    for (int i = 0; i < list->count; i++)
        p->values[i] = printed(arena, list->children[i]);
    return CSE_OK;
}

static cse_status read_range(const cse_yaml_node *list, cse_sweep_parameter *p)
{
    double *const ends[] = { &p->low, &p->high };
    bool sound = list->kind == CSE_YAML_SEQUENCE && list->count == 2;
    for (int i = 0; sound && i < 2; i++)
        sound = list->children[i]->kind == CSE_YAML_SCALAR &&
                cse_setting_number_read(list->children[i]->text, ends[i]);
    if (!sound || !(p->low < p->high))
        return wrong(list->place, "a range is two numbers, the smaller first",
                     "accepted: [low, high]");
    if (p->kind == CSE_SWEEP_LOG_UNIFORM && !(p->low > 0))
        return wrong(list->place, "log_uniform begins above 0", "accepted: [1e-4, 1e-1]");
    if (p->kind == CSE_SWEEP_INT && (p->low != floor(p->low) || p->high != floor(p->high) ||
                                     fabs(p->low) > 1e15 || fabs(p->high) > 1e15))
        return wrong(list->place, "int has whole numbers", "accepted: [1, 8], both among them");
    return CSE_OK;
}

static cse_status read_parameter(cse_arena *arena, const cse_yaml_node *node,
                                 cse_sweep_parameter *p)
{
    static const char *const kinds[] = { "choice", "uniform", "log_uniform", "int" };
    static const char accepted[] =
        "accepted: [values], {choice: [...]}, {uniform: [low, high]}, {log_uniform: [low, high]}, "
        "{int: [low, high]}";
    if (node->kind == CSE_YAML_SEQUENCE)
        return read_choice(arena, node, p);
    if (node->kind != CSE_YAML_MAPPING || node->count != 1)
        return wrong(node->place, "this says no values of a parameter", accepted);
    for (int k = 0; k < 4; k++) {
        if (strcmp(node->keys[0].text, kinds[k]) != 0)
            continue;
        p->kind = (cse_sweep_kind)k;
        return p->kind == CSE_SWEEP_CHOICE ? read_choice(arena, node->children[0], p)
                                           : read_range(node->children[0], p);
    }
    return wrong(node->keys[0].place,
                 cse_arena_printf(arena, "unknown key \"%.60s\"", node->keys[0].text), accepted);
}

static cse_status read_parameters(cse_arena *arena, const cse_settings *s, cse_sweep_plan *plan)
{
    const cse_yaml_node *node = cse_settings_node(s, "parameters");
    if (node->kind != CSE_YAML_MAPPING || node->count == 0 ||
        node->count > CSE_SWEEP_MOST_PARAMETERS)
        return wrong(node->place, "parameters is a mapping of 1 to 64 settings",
                     "accepted: {optimizer.SGD.lr: {log_uniform: [1e-3, 1]}}");
    plan->parameter_count = node->count;
    plan->parameters = cse_arena_alloc(arena, (size_t)node->count * sizeof *plan->parameters);
    for (int i = 0; i < node->count; i++) {
        cse_sweep_parameter *p = &plan->parameters[i];
        *p = (cse_sweep_parameter){ .path = node->keys[i].text };
        CSE_TRY(read_parameter(arena, node->children[i], p));
        if (plan->method == CSE_SWEEP_GRID && p->kind != CSE_SWEEP_CHOICE)
            return wrong(node->children[i]->place, "a grid has lists of values alone",
                         "accepted: [1, 2, 4], or method: random");
    }
    return CSE_OK;
}

/* ---- trials and rungs ---- */

static cse_status count_trials(const cse_settings *s, cse_sweep_plan *plan)
{
    int64_t all = 1;
    for (int i = 0; plan->method == CSE_SWEEP_GRID && i < plan->parameter_count; i++) {
        all *= plan->parameters[i].count;
        if (all > CSE_SWEEP_MOST_TRIALS)
            return wrong(cse_settings_place(s, "parameters"), "the grid is too large",
                         "accepted: at most 10000 combinations");
    }
    const bool given = cse_settings_has(s, "trials");
    if (plan->method == CSE_SWEEP_GRID && given)
        return wrong(cse_settings_place(s, "trials"), "a grid has as many trials as combinations",
                     "accepted: null");
    if (plan->method != CSE_SWEEP_GRID && !given)
        return wrong(cse_settings_place(s, "trials"), "trials is missing",
                     "accepted: a number from 1 to 10000");
    plan->trials = (int)(plan->method == CSE_SWEEP_GRID ? all : cse_settings_integer(s, "trials"));
    return CSE_OK;
}

static cse_status plan_rungs(const cse_settings *s, cse_sweep_plan *plan)
{
    const cse_settings *steps = cse_settings_nested(s, "steps");
    const int64_t least = cse_settings_integer(steps, "min");
    const int64_t most = cse_settings_integer(steps, "max");
    const int64_t eta = cse_settings_integer(steps, "eta");
    plan->rungs = 1;
    plan->rung_trials[0] = plan->trials;
    if ((plan->method == CSE_SWEEP_HALVING) != cse_settings_given(s, "steps"))
        return wrong(cse_settings_place(s, "steps"),
                     "steps belongs to method halving, which needs it",
                     "accepted: {min: 100, max: 2700, eta: 3}");
    if (plan->method != CSE_SWEEP_HALVING)
        return CSE_OK;
    if (least > most)
        return wrong(cse_settings_place(steps, "min"), "min is above max", "accepted: 1 to max");
    plan->rung_steps[0] = least;
    while (plan->rungs < CSE_SWEEP_MOST_RUNGS && plan->rung_trials[plan->rungs - 1] >= eta &&
           plan->rung_steps[plan->rungs - 1] <= most / eta) {
        plan->rung_steps[plan->rungs] = plan->rung_steps[plan->rungs - 1] * eta;
        plan->rung_trials[plan->rungs] = plan->rung_trials[plan->rungs - 1] / (int)eta;
        plan->rungs++;
    }
    return CSE_OK;
}

bool cse_sweep_is_loss(const char *metric)
{
    const size_t length = strlen(metric);
    return length >= 4 && strcmp(metric + length - 4, "loss") == 0;
}

static void read_words(cse_arena *arena, const cse_settings *s, cse_sweep_plan *plan)
{
    static const char *const methods[] = { "grid", "random", "halving" };
    const char *method = cse_settings_text(s, "method");
    while (strcmp(methods[plan->method], method) != 0)
        plan->method++;
    plan->name = cse_settings_text(s, "name");
    plan->config = cse_settings_text(s, "config");
    plan->metric = cse_settings_text(s, "metric");
    plan->maximizes = cse_settings_has(s, "goal") ? strcmp(cse_settings_text(s, "goal"), "max") == 0
                                                  : !cse_sweep_is_loss(plan->metric);
    plan->seed = (uint64_t)cse_settings_integer(s, "seed");
    const int count = cse_settings_count(s, "settings");
    plan->settings = cse_arena_alloc(arena, ((size_t)count + 1) * sizeof *plan->settings);
    for (int i = 0; i < count; i++)
        plan->settings[i] = cse_settings_text_at(s, "settings", i);
    plan->settings[count] = NULL;
}

static cse_status read_plan(cse_arena *arena, cse_yaml_node *root, cse_sweep_plan *plan)
{
    cse_settings *s = NULL;
    const cse_settings_expected expected = { .table = sweep_table, .subject = "sweep" };
    *plan = (cse_sweep_plan){ .name = NULL };
    CSE_TRY(cse_settings_check(arena, &expected, root, &s));
    read_words(arena, s, plan);
    plan->identity = printed(arena, root);
    CSE_TRY(read_parameters(arena, s, plan));
    CSE_TRY(count_trials(s, plan));
    return plan_rungs(s, plan);
}

cse_status cse_sweep_plan_read(cse_arena *arena, const char *path, cse_sweep_plan *plan)
{
    cse_yaml_node *root = NULL;
    CSE_TRY(cse_yaml_parse_file(arena, path, &root));
    return read_plan(arena, root, plan);
}

cse_status cse_sweep_plan_parse(cse_arena *arena, const char *source, const char *text,
                                cse_sweep_plan *plan)
{
    cse_yaml_node *root = NULL;
    CSE_TRY(cse_yaml_parse(arena, source, text, strlen(text), &root));
    return read_plan(arena, root, plan);
}

/* ---- values ---- */

static double draw(const cse_sweep_plan *plan, int trial, int parameter)
{
    uint32_t words[4];
    const uint32_t counter[4] = { (uint32_t)trial, (uint32_t)parameter, SWEEP_STREAM, 0 };
    cse_philox(plan->seed, counter, words);
    return (double)(((uint64_t)words[1] << 32 | words[0]) >> 11) * 0x1p-53;
}

const char *cse_sweep_value(const cse_sweep_plan *plan, int trial, int parameter, cse_arena *arena)
{
    const cse_sweep_parameter *p = &plan->parameters[parameter];
    if (plan->method == CSE_SWEEP_GRID) {
        for (int i = plan->parameter_count - 1; i > parameter; i--) /* the last one changes first */
            trial /= plan->parameters[i].count;
        return p->values[trial % p->count];
    }
    const double u = draw(plan, trial, parameter);
    switch (p->kind) {
    case CSE_SWEEP_CHOICE:
        return p->values[(int)(u * p->count)];
    case CSE_SWEEP_INT:
        return cse_arena_printf(arena, "%.0f", p->low + floor(u * (p->high - p->low + 1)));
    case CSE_SWEEP_UNIFORM:
        return cse_arena_printf(arena, "%.9g", p->low + u * (p->high - p->low));
    case CSE_SWEEP_LOG_UNIFORM:
        break;
    }
    return cse_arena_printf(arena, "%.9g", p->low * pow(p->high / p->low, u));
}
