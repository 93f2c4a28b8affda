/* A group's settings are checked against one table; a number that is written as a mapping against
 * the table of its type, so that each type has its own names and its own defaults. */
#include "engine/base/config/sparsity_settings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/config/settings.h"

#define WORD_FIRST(name, enumerator) name
#define WORD_NEXT(name, enumerator) "|" name

const cse_setting cse_sparsity_setting_table[] = {
    { "algorithm", CSE_SETTING_CHOICE, "static", 0, 0,
      CSE_SPARSITY_ALGORITHMS(WORD_FIRST, WORD_NEXT), "how masks change", NULL },
    { "sparsity", CSE_SETTING_ANY, "null", 0, 0, NULL,
      "part of the elements that are zero, from 0 to below 1; or {type: linear|exp|power|cosine|"
      "cycling|cubic, ...} for one that depends on the step",
      NULL },
    { "schedule", CSE_SETTING_ANY, "null", 0, 0, NULL, "the same as sparsity", NULL },
    { "init_method", CSE_SETTING_CHOICE, "random", 0, 0, CSE_SPARSITY_INITS(WORD_FIRST, WORD_NEXT),
      "the first masks: random ones, of the largest weights, of the weights that are not zero, or "
      "evenly spread",
      NULL },
    { "param_filter", CSE_SETTING_ANY, "null", 0, 0, NULL,
      "a pattern of parameters' names, or a list of them; null: those of two or more axes that are "
      "neither embedding, norm, lm_head nor pe_helper",
      NULL },
    { "drop_fraction", CSE_SETTING_ANY, "null", 0, 0, NULL,
      "set, rigl: part of the elements in use that each change drops and grows elsewhere (0.3), a "
      "number or {type: ...}",
      NULL },
    { "update", CSE_SETTING_ANY, "null", 0, 0, NULL,
      "gmp, set, rigl: when masks change, {freq: STEPS, start: STEP, stop: STEP} or {steps: "
      "[...]}; "
      "null: in every step",
      NULL },
    { 0 },
};

#define PART(name, default_value, doc)                                 \
    {                                                                  \
        name, CSE_SETTING_NUMBER, default_value, 0, 1, NULL, doc, NULL \
    }
#define STEP(name, default_value, least, doc)                                        \
    {                                                                                \
        name, CSE_SETTING_INTEGER, default_value, least, 1073741823, NULL, doc, NULL \
    }

static const cse_setting constant_table[] = {
    PART("value", NULL, "the number"),
    { 0 },
};
static const cse_setting linear_table[] = {
    PART("init", NULL, "at step 0"),
    { "slope", CSE_SETTING_NUMBER, NULL, -1, 1, NULL, "change a step", NULL },
    { 0 },
};
static const cse_setting exp_table[] = {
    PART("init", NULL, "at step 0"),
    { "gamma", CSE_SETTING_NUMBER, NULL, -1e6, 0, NULL, "exponent a step", NULL },
    PART("final", "1", "approached"),
    { 0 },
};
static const cse_setting power_table[] = {
    PART("init", NULL, "at step 0"),
    { "beta", CSE_SETTING_NUMBER, NULL, 0, 1e6, NULL, "factor a step", NULL },
    { 0 },
};
static const cse_setting cosine_table[] = {
    PART("init", NULL, "at step 0"),
    { "half_period", CSE_SETTING_NUMBER, NULL, 1e-6, 1e9, NULL, "steps to the minimum", NULL },
    PART("minimum", "0", "after half a period"),
    { 0 },
};
static const cse_setting cycling_table[] = {
    { "values", CSE_SETTING_NUMBER_LIST, NULL, 0, 1, NULL, "one after the other", NULL },
    { 0 },
};
static const cse_setting cubic_table[] = {
    PART("init", "0", "at start"),
    PART("final", NULL, "from stop on"),
    STEP("start", "null", 0, "step; null: update.start"),
    STEP("stop", "null", 1, "step; null: the last one before update.stop that changes masks"),
    { 0 },
};

static const struct {
    const char *name;
    const cse_setting *table;
} curves[] = {
    { "constant", constant_table }, { "linear", linear_table }, { "exp", exp_table },
    { "power", power_table },       { "cosine", cosine_table }, { "cycling", cycling_table },
    { "cubic", cubic_table },
};

static const cse_setting update_table[] = {
    STEP("freq", "1", 1, "steps from one change to the next"),
    STEP("start", "0", 0, "first step that changes masks; until then, if above 0, all is dense"),
    STEP("stop", "null", 1, "from here on masks do not change"),
    { "steps", CSE_SETTING_INTEGER_LIST, "null", 0, 1073741823, NULL, "the steps themselves",
      NULL },
    { 0 },
};

/* What is read of one group. */
typedef struct reading {
    cse_arena *arena;
    cse_sparsity_group *group;
} reading;

static cse_status check(const reading *r, const cse_setting *table, const char *subject,
                        cse_yaml_node *tree, const cse_settings **settings)
{
    const cse_settings_expected expected = { .table = table,
                                             .subject = cse_arena_string(r->arena, subject) };
    cse_settings *checked = NULL;
    CSE_TRY(cse_settings_check(r->arena, &expected, tree, &checked));
    *settings = checked;
    return CSE_OK;
}

/* ---- numbers ---- */

static double number_or(const cse_settings *settings, const char *name, double otherwise)
{
    return cse_setting_table_has(settings->table, name) ? cse_settings_number(settings, name)
                                                        : otherwise;
}

static cse_status read_values(const cse_settings *settings, const char *name,
                              cse_sparsity_number *number)
{
    number->value_count = cse_settings_count(settings, "values");
    if (number->value_count < 1 || number->value_count > CSE_SPARSITY_MOST_VALUES)
        return cse_fail_at(CSE_ERROR_AT("sparsity: ", cse_settings_place(settings, "values")),
                           "%s: values has %d entries; accepted: 1 to %d", name,
                           number->value_count, CSE_SPARSITY_MOST_VALUES);
    for (int i = 0; i < number->value_count; i++)
        number->values[i] = cse_settings_number_at(settings, "values", i);
    return CSE_OK;
}

/* The last step before update.stop that changes masks, so that the last change reaches `final`. */
static int64_t last_update(const cse_sparsity_update *update)
{
    int64_t last = update->start;
    for (int i = 0; i < update->step_count; i++)
        last = update->steps[i] > last ? update->steps[i] : last;
    if (update->step_count > 0 || update->stop == INT32_MAX)
        return update->step_count > 0 ? last : 0;
    return update->start + (update->stop - 1 - update->start) / update->freq * update->freq;
}

static cse_status read_span(const reading *r, const cse_settings *settings,
                            cse_sparsity_number *number)
{
    const cse_sparsity_update *update = &r->group->update;
    number->start = cse_settings_has(settings, "start") ? cse_settings_integer(settings, "start")
                                                        : update->start;
    number->stop = cse_settings_has(settings, "stop") ? cse_settings_integer(settings, "stop")
                                                      : last_update(update);
    if (number->stop > number->start)
        return CSE_OK;
    cse_place place = cse_settings_has(settings, "stop") ? cse_settings_place(settings, "stop")
                                                         : settings->node->place;
    return cse_fail_at(CSE_ERROR_AT("sparsity: ", place),
                       "a cubic schedule ends after it begins, but stop is %lld and start %lld; "
                       "give stop, here or in update, a later step",
                       (long long)number->stop, (long long)number->start);
}

static cse_status read_curve(const reading *r, const char *name, cse_yaml_node *node,
                             cse_sparsity_number *number)
{
    static const char *const words[] = { "type", NULL };
    const size_t count = sizeof curves / sizeof curves[0];
    const cse_settings *settings = NULL;
    char subject[64];
    cse_yaml_node *type = cse_yaml_find(node, "type");
    size_t found = 0;
    while (type != NULL && type->kind == CSE_YAML_SCALAR && found < count &&
           strcmp(type->text, curves[found].name) != 0)
        found++;
    if (type == NULL || type->kind != CSE_YAML_SCALAR || found == count)
        return cse_fail_at(CSE_ERROR_AT("sparsity: ", type != NULL ? type->place : node->place),
                           "%s: the type of the schedule is missing or unknown; accepted: {type: "
                           "T, ...} with constant, linear, exp, power, cosine, cycling or cubic",
                           name);
    type->read = true;
    snprintf(subject, sizeof subject, "sparsity: %s: %s", name, curves[found].name);
    CSE_TRY(
        check(r, curves[found].table, subject, cse_yaml_without(r->arena, node, words), &settings));
    *number = (cse_sparsity_number){
        .curve = (cse_sparsity_curve)found,
        .init = number_or(settings, found == CSE_SPARSITY_CONSTANT ? "value" : "init", 0),
        .slope = number_or(settings, "slope", 0),
        .gamma = number_or(settings, "gamma", 0),
        .final = number_or(settings, "final", 0),
        .beta = number_or(settings, "beta", 0),
        .half_period = number_or(settings, "half_period", 1),
        .minimum = number_or(settings, "minimum", 0),
    };
    if (found == CSE_SPARSITY_CYCLING)
        return read_values(settings, name, number);
    return found == CSE_SPARSITY_CUBIC ? read_span(r, settings, number) : CSE_OK;
}

/* The largest part that is accepted: a parameter of zeros alone learns nothing. */
static cse_status check_part(const cse_yaml_node *node, const char *name, double value,
                             bool may_be_one)
{
    if (value >= 0 && (value < 1 || (may_be_one && value == 1)))
        return CSE_OK;
    return cse_fail_at(CSE_ERROR_AT("sparsity: ", node->place),
                       "%s is %g; accepted: a number from 0 to %s1, or a schedule, {type: ...}",
                       name, value, may_be_one ? "" : "below ");
}

static cse_status read_number(const reading *r, const char *name, cse_yaml_node *node,
                              cse_sparsity_number *number)
{
    const bool may_be_one = strcmp(name, "drop_fraction") == 0;
    double value = NAN;
    node->read = true;
    *number = (cse_sparsity_number){ .curve = CSE_SPARSITY_CONSTANT };
    if (node->kind == CSE_YAML_MAPPING) {
        CSE_TRY(read_curve(r, name, node, number));
    } else if (node->kind == CSE_YAML_SEQUENCE) { /* a list cycles */
        const cse_settings *settings = NULL;
        cse_yaml_node *mapping = cse_yaml_mapping_new(r->arena, node->place);
        cse_yaml_put(r->arena, mapping, (cse_yaml_key){ "values", node->place }, node);
        CSE_TRY(check(r, cycling_table, "sparsity: cycling", mapping, &settings));
        number->curve = CSE_SPARSITY_CYCLING;
        CSE_TRY(read_values(settings, name, number));
    } else if (cse_setting_number_read(node->text, &value)) {
        number->init = value;
    } else {
        return cse_fail_at(CSE_ERROR_AT("sparsity: ", node->place),
                           "%s is \"%.60s\"; accepted: a number from 0 to %s1, or a schedule, "
                           "{type: ...}",
                           name, node->text, may_be_one ? "" : "below ");
    }
    if (number->curve == CSE_SPARSITY_CONSTANT)
        return check_part(node, name, number->init, may_be_one);
    for (int i = 0; i < number->value_count; i++)
        CSE_TRY(check_part(node, name, number->values[i], may_be_one));
    if (number->curve == CSE_SPARSITY_CUBIC)
        return check_part(node, name, number->final, may_be_one);
    return CSE_OK;
}

double cse_sparsity_first(const cse_sparsity_number *number)
{
    double value = number->init;
    if (number->curve == CSE_SPARSITY_CYCLING)
        value = number->values[0];
    return fmin(fmax(value, 0), 1);
}

/* ---- when masks change ---- */

static cse_status read_update(const reading *r, cse_yaml_node *node)
{
    const cse_settings *settings = NULL;
    cse_sparsity_update *update = &r->group->update;
    CSE_TRY(check(r, update_table, "sparsity: update", node, &settings));
    update->freq = cse_settings_integer(settings, "freq");
    update->start = cse_settings_integer(settings, "start");
    update->stop =
        cse_settings_has(settings, "stop") ? cse_settings_integer(settings, "stop") : INT32_MAX;
    if (update->stop <= update->start)
        return cse_fail_at(CSE_ERROR_AT("sparsity: ", cse_settings_place(settings, "stop")),
                           "update: stop is %lld and start %lld; stop must be a later step",
                           (long long)update->stop, (long long)update->start);
    if (!cse_settings_has(settings, "steps"))
        return CSE_OK;
    update->step_count = cse_settings_count(settings, "steps");
    if (update->step_count < 1 || update->step_count > CSE_SPARSITY_MOST_VALUES)
        return cse_fail_at(CSE_ERROR_AT("sparsity: ", cse_settings_place(settings, "steps")),
                           "update: steps has %d entries; accepted: 1 to %d, or freq",
                           update->step_count, CSE_SPARSITY_MOST_VALUES);
    for (int i = 0; i < update->step_count; i++)
        update->steps[i] = cse_settings_integer_at(settings, "steps", i);
    update->start = update->steps[0];
    return CSE_OK;
}

bool cse_sparsity_starts_sparse(const cse_sparsity_group *group)
{
    if (group->algorithm == CSE_SPARSITY_STATIC)
        return true;
    for (int i = 0; i < group->update.step_count; i++)
        if (group->update.steps[i] == 0)
            return true;
    return group->update.step_count == 0 && group->update.start == 0;
}

/* ---- a group ---- */

static cse_status read_patterns(const reading *r, cse_yaml_node *node)
{
    cse_sparsity_group *group = r->group;
    const bool is_list = node->kind == CSE_YAML_SEQUENCE;
    const int count = is_list ? node->count : 1;
    node->read = true;
    group->place = node->place;
    group->patterns = cse_arena_alloc(r->arena, ((size_t)count + 1) * sizeof *group->patterns);
    for (int i = 0; i < count; i++) {
        cse_yaml_node *pattern = is_list ? node->children[i] : node;
        if (pattern->kind != CSE_YAML_SCALAR)
            break;
        pattern->read = true;
        group->patterns[group->pattern_count++] = pattern->text;
    }
    if (count > 0 && group->pattern_count == count)
        return CSE_OK;
    return cse_fail_at(CSE_ERROR_AT("sparsity: ", node->place),
                       "param_filter: a pattern of parameters' names belongs here, as in "
                       "\"*.weight\", or a list of them");
}

/* What the algorithm asks for, and what has no effect with it. */
static cse_status check_algorithm(const cse_settings *settings, const cse_sparsity_group *group)
{
    const char *name = cse_settings_text(settings, "algorithm");
    const char *useless = NULL;
    if (group->algorithm == CSE_SPARSITY_STATIC && cse_settings_has(settings, "update"))
        useless = "update";
    else if (group->algorithm <= CSE_SPARSITY_GMP && cse_settings_has(settings, "drop_fraction"))
        useless = "drop_fraction";
    if (useless != NULL)
        return cse_fail_at(CSE_ERROR_AT("sparsity: ", cse_settings_place(settings, useless)),
                           "the algorithm %s has no %s; leave it out, or choose %s", name, useless,
                           strcmp(useless, "update") == 0 ? "gmp, set or rigl" : "set or rigl");
    const bool constant = group->sparsity.curve == CSE_SPARSITY_CONSTANT;
    if (group->algorithm == CSE_SPARSITY_GMP && constant)
        return cse_fail_at(CSE_ERROR_AT("sparsity: ", settings->node->place),
                           "gmp with the constant sparsity %g would not prune any further; give a "
                           "schedule, as in {type: cubic, final: %g, stop: 1000}, or choose static",
                           group->sparsity.init, group->sparsity.init);
    if (group->algorithm == CSE_SPARSITY_STATIC && !constant)
        return cse_fail_at(CSE_ERROR_AT("sparsity: ", settings->node->place),
                           "static takes a number as sparsity, since its masks do not change; for "
                           "a schedule choose gmp, set or rigl");
    return CSE_OK;
}

static cse_status read_amount(const reading *r, const cse_settings *settings)
{
    const bool both = cse_settings_has(settings, "schedule");
    const char *name = both ? "schedule" : "sparsity";
    if (both && cse_settings_has(settings, "sparsity"))
        return cse_fail_at(CSE_ERROR_AT("sparsity: ", cse_settings_place(settings, "schedule")),
                           "sparsity and schedule mean the same; give one");
    if (!cse_settings_has(settings, name))
        return cse_fail_at(CSE_ERROR_AT("sparsity: ", settings->node->place),
                           "how sparse? Give {sparsity: S, ...} with a number from 0 to below 1, "
                           "or a schedule, {type: ...}");
    return read_number(r, name, cse_settings_node(settings, name), &r->group->sparsity);
}

static cse_status read_group(const reading *r, cse_yaml_node *node)
{
    static const char *const algorithms[] = {
#define NAME(name, enumerator) name,
        CSE_SPARSITY_ALGORITHMS(NAME, NAME) NULL
    };
    static const char *const inits[] = { CSE_SPARSITY_INITS(NAME, NAME) NULL };
    const cse_settings *settings = NULL;
    cse_sparsity_group *group = r->group;
    *group = (cse_sparsity_group){
        .place = node->place,
        .drop_fraction = { .curve = CSE_SPARSITY_CONSTANT, .init = 0.3 },
        .update = { .freq = 1, .stop = INT32_MAX },
    };
    CSE_TRY(check(r, cse_sparsity_setting_table, "sparsity", node, &settings));
    while (strcmp(algorithms[group->algorithm], cse_settings_text(settings, "algorithm")) != 0)
        group->algorithm++;
    while (strcmp(inits[group->init], cse_settings_text(settings, "init_method")) != 0)
        group->init++;
    if (cse_settings_has(settings, "update"))
        CSE_TRY(read_update(r, cse_settings_node(settings, "update")));
    CSE_TRY(read_amount(r, settings));
    if (cse_settings_has(settings, "drop_fraction"))
        CSE_TRY(read_number(r, "drop_fraction", cse_settings_node(settings, "drop_fraction"),
                            &group->drop_fraction));
    CSE_TRY(check_algorithm(settings, group));
    if (cse_settings_has(settings, "param_filter"))
        return read_patterns(r, cse_settings_node(settings, "param_filter"));
    return CSE_OK;
}

/* A number alone is {sparsity: NUMBER}; `type` is an older name of `algorithm`, whose words may be
 * written in any case. */
static cse_yaml_node *in_full(cse_arena *arena, cse_yaml_node *node)
{
    static const char *const words[] = { "type", "algorithm", NULL };
    if (node->kind == CSE_YAML_SCALAR) {
        cse_yaml_node *mapping = cse_yaml_mapping_new(arena, node->place);
        cse_yaml_put(arena, mapping, (cse_yaml_key){ "sparsity", node->place }, node);
        return mapping;
    }
    cse_yaml_node *name = cse_yaml_find(node, "algorithm");
    if (name == NULL)
        name = cse_yaml_find(node, "type");
    if (node->kind != CSE_YAML_MAPPING || name == NULL || name->kind != CSE_YAML_SCALAR)
        return node;
    char *lower = cse_arena_string(arena, name->text);
    for (char *c = lower; *c != '\0'; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
    name->read = true;
    cse_yaml_node *full = cse_yaml_without(arena, node, words);
    cse_yaml_put(arena, full, (cse_yaml_key){ "algorithm", name->place },
                 cse_yaml_scalar_new(arena, name->place, lower));
    return full;
}

cse_status cse_sparsity_settings_read(cse_arena *arena, cse_yaml_node *tree,
                                      cse_sparsity_groups *result)
{
    const bool is_list = tree->kind == CSE_YAML_SEQUENCE;
    const int count = is_list ? tree->count : 1;
    *result = (cse_sparsity_groups){ NULL, 0 };
    tree->read = true;
    if (!is_list && cse_yaml_is_null(tree))
        return CSE_OK;
    cse_sparsity_group *groups = cse_arena_alloc(arena, ((size_t)count + 1) * sizeof *groups);
    for (int i = 0; i < count; i++) {
        const reading r = { arena, &groups[i] };
        CSE_TRY(read_group(&r, in_full(arena, is_list ? tree->children[i] : tree)));
    }
    *result = (cse_sparsity_groups){ groups, count };
    return CSE_OK;
}
