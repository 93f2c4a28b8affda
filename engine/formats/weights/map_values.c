/* Their facts as texts and numbers: what is given, what is not given, and what a formula makes of
 * others. A default of a map that begins with = is made of other settings of its side: =NAME or
 * =NAME/NAME. */
#include "engine/formats/weights/map_values.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/json.h"

enum { MOST_STEPS = 8 /* of a default that refers to others */ };

bool cse_map_is_number(const char *text, double *number)
{
    char *end = NULL;
    *number = strtod(text, &end);
    return end != text && *end == '\0';
}

bool cse_map_equal(const char *one, const char *other)
{
    double a, b;
    if (cse_map_is_number(one, &a) && cse_map_is_number(other, &b))
        return a == b;
    return strcmp(one, other) == 0;
}

bool cse_map_is_among(const cse_yaml_node *values, const char *text)
{
    if (values->kind == CSE_YAML_SCALAR)
        return cse_map_equal(values->text, text);
    for (int i = 0; i < values->count; i++)
        if (values->children[i]->kind == CSE_YAML_SCALAR &&
            cse_map_equal(values->children[i]->text, text))
            return true;
    return false;
}

const char *cse_map_first_of(const cse_yaml_node *values)
{
    return values->kind == CSE_YAML_SCALAR ? values->text
           : values->count > 0             ? values->children[0]->text
                                           : "";
}

const char *cse_map_our_setting(const cse_yaml_node *settings, const char *name)
{
    char first[128];
    const char *dot = strchr(name, '.');
    const size_t length = dot != NULL ? (size_t)(dot - name) : strlen(name);
    if (length >= sizeof first)
        return NULL;
    memcpy(first, name, length);
    first[length] = '\0';
    const cse_yaml_node *found = cse_yaml_find(settings, first);
    if (found == NULL)
        return NULL;
    if (dot != NULL)
        return cse_map_our_setting(found, dot + 1);
    if (found->kind == CSE_YAML_SEQUENCE && found->count == 2 &&
        found->children[0]->kind == CSE_YAML_SCALAR &&
        found->children[1]->kind == CSE_YAML_SCALAR &&
        strcmp(found->children[0]->text, found->children[1]->text) == 0)
        return found->children[0]->text; /* both sides of a square */
    return found->kind == CSE_YAML_SCALAR ? found->text : NULL;
}

bool cse_map_has_form(const cse_map_fact *fact, const char *form)
{
    return fact->form != NULL && strcmp(fact->form, form) == 0;
}

const char *cse_map_list_of(cse_arena *arena, const cse_yaml_node *values)
{
    cse_text text = { 0 };
    cse_yaml_print(values, &text);
    const char *list = cse_arena_string(arena, text.data);
    cse_text_clear(&text);
    return list;
}

/* ---- theirs ---- */

const char *cse_map_json_text(cse_arena *arena, const json_t *value)
{
    cse_text text = { 0 };
    if (json_is_array(value) || json_is_object(value))
        return json_array_size(value) + json_object_size(value) > 0 ? NULL
               : json_is_array(value)                               ? "[]"
                                                                    : "{}";
    if (json_is_string(value))
        return cse_arena_string(arena, json_string_value(value));
    if (json_is_boolean(value))
        return json_is_true(value) ? "true" : "false";
    if (json_is_null(value))
        return "null";
    if (json_is_integer(value))
        return cse_arena_printf(arena, "%" PRId64, (int64_t)json_integer_value(value));
    if (!json_is_real(value))
        return NULL;
    cse_json_add_number(&text, json_real_value(value));
    if (strpbrk(text.data, ".eE") == NULL)
        cse_text_add(&text, ".0"); /* it stays a number with a fraction on the way back */
    const char *number = cse_arena_string(arena, text.data);
    cse_text_clear(&text);
    return number;
}

json_t *cse_map_json_of(const cse_yaml_node *node)
{
    double number;
    if (node->kind == CSE_YAML_SEQUENCE) {
        json_t *list = json_array();
        for (int i = 0; i < node->count; i++)
            json_array_append_new(list, cse_map_json_of(node->children[i]));
        return list;
    }
    if (node->kind == CSE_YAML_MAPPING) {
        json_t *object = json_object();
        for (int i = 0; i < node->count; i++)
            json_object_set_new(object, node->keys[i].text, cse_map_json_of(node->children[i]));
        return object;
    }
    if (node->quoted)
        return json_string(node->text);
    if (cse_yaml_is_null(node))
        return json_null();
    if (strcmp(node->text, "true") == 0 || strcmp(node->text, "false") == 0)
        return json_boolean(node->text[0] == 't');
    if (!cse_map_is_number(node->text, &number) || !isfinite(number))
        return json_string(node->text);
    return strpbrk(node->text, ".eE") != NULL ? json_real(number)
                                              : json_integer(strtoll(node->text, NULL, 10));
}

const json_t *cse_map_their_value(const json_t *facts, const char *name)
{
    const json_t *value = json_object_get(facts, name);
    const char *dot = strchr(name, '.');
    if (value != NULL || dot == NULL)
        return value;
    char first[128];
    if (dot - name >= (int)sizeof first)
        return NULL;
    memcpy(first, name, (size_t)(dot - name));
    first[dot - name] = '\0';
    const json_t *below = json_object_get(facts, first);
    if (json_is_array(below) && dot[1] >= '0' && dot[1] <= '9')
        return json_array_get(below, strtoul(dot + 1, NULL, 10));
    return json_is_object(below) ? cse_map_their_value(below, dot + 1) : NULL;
}

/* Under the first of its names that is there. */
const json_t *cse_map_value_of(const json_t *facts, const cse_map_fact *fact)
{
    const json_t *value = NULL;
    for (int i = 0; i < fact->their_names && (value == NULL || json_is_null(value)); i++) {
        const json_t *found = cse_map_their_value(facts, fact->theirs[i]);
        value = found != NULL ? found : value;
    }
    return value;
}

static const cse_map_fact *fact_named(const cse_map *map, const char *theirs)
{
    for (int i = 0; i < map->fact_count; i++)
        if (map->facts[i].their_names > 0 && strcmp(map->facts[i].theirs[0], theirs) == 0)
            return &map->facts[i];
    return NULL;
}

static int64_t integer_of(const cse_map *map, const json_t *facts, const char *name, int steps);

/* NAME, NAME/NAME or NAME*NUMBER of integers. */
int64_t cse_map_quotient(const cse_map *map, const json_t *facts, const char *text, int steps)
{
    const char *slash = strpbrk(text, "/*");
    char first[64];
    if (slash == NULL)
        return integer_of(map, facts, text, steps + 1);
    if (slash - text >= (int)sizeof first)
        return -1;
    memcpy(first, text, (size_t)(slash - text));
    first[slash - text] = '\0';
    const int64_t a = integer_of(map, facts, first, steps + 1);
    const int64_t b = integer_of(map, facts, slash + 1, steps + 1);
    if (*slash == '*')
        return a < 0 || b < 0 || a > INT32_MAX || b > INT32_MAX ? -1 : a * b;
    return a < 0 || b < 1 ? -1 : a / b;
}

/* Of a fact that is a fraction of others. */
static int64_t part_of(const cse_map *map, const json_t *facts, const cse_map_fact *fact, int steps)
{
    const json_t *value = cse_map_value_of(facts, fact);
    double fraction = json_number_value(value);
    const bool has_default =
        fact->their_default != NULL && fact->their_default->kind == CSE_YAML_SCALAR;
    if (!json_is_number(value) &&
        (!has_default || !cse_map_is_number(fact->their_default->text, &fraction)))
        return -1;
    const int64_t whole = cse_map_quotient(map, facts, fact->fraction_of, steps + 1);
    return whole < 0 || fraction < 0 || fraction > 1 ? -1 : (int64_t)((double)whole * fraction);
}

bool cse_map_is_formula(const cse_yaml_node *node)
{
    return node != NULL && node->kind == CSE_YAML_SCALAR && *node->text == '=';
}

/* Of our settings, =root(NAME): map_numbers.c. */
bool cse_map_is_root_formula(const cse_yaml_node *node)
{
    return cse_map_is_formula(node) && strncmp(node->text, "=root(", 6) == 0;
}

static int64_t integer_of(const cse_map *map, const json_t *facts, const char *name, int steps)
{
    const cse_map_fact *fact = fact_named(map, name);
    const json_t *value =
        fact != NULL ? cse_map_value_of(facts, fact) : cse_map_their_value(facts, name);
    if (*name >= '0' && *name <= '9')
        return strtoll(name, NULL, 10);
    if (fact != NULL && fact->fraction_of != NULL && steps < MOST_STEPS)
        return part_of(map, facts, fact, steps);
    if (json_is_integer(value))
        return json_integer_value(value);
    if (steps < MOST_STEPS && fact != NULL && json_is_null(value) &&
        cse_map_is_formula(fact->null_is))
        return integer_of(map, facts, fact->null_is->text + 1, steps + 1);
    if (steps >= MOST_STEPS || fact == NULL || fact->their_default == NULL ||
        fact->their_default->kind != CSE_YAML_SCALAR)
        return -1;
    const char *text = fact->their_default->text;
    if (*text == '=')
        return cse_map_quotient(map, facts, text + 1, steps);
    return *text >= '0' && *text <= '9' ? strtoll(text, NULL, 10) : -1;
}

int64_t cse_map_integer(const cse_map *map, const json_t *facts, const char *name)
{
    return integer_of(map, facts, name, 0);
}

/* What is there without a value of theirs: nothing, null, or another fact. */
bool cse_map_takes_null(const cse_map_fact *fact)
{
    return cse_map_is_formula(fact->their_default) ||
           (fact->their_default != NULL && cse_yaml_is_null(fact->their_default));
}

static const char *text_of(const cse_map *map, cse_arena *arena, const json_t *facts,
                           const cse_map_fact *fact, int steps);

/* Another fact, by the formula =NAME, or =NAME/NAME of integers. */
static const char *their_formula(const cse_map *map, cse_arena *arena, const json_t *facts,
                                 const cse_map_fact *fact, int steps)
{
    const bool is_null =
        json_is_null(cse_map_value_of(facts, fact)) && cse_map_is_formula(fact->null_is);
    const char *formula = is_null ? fact->null_is->text : fact->their_default->text;
    const cse_map_fact *other = fact_named(map, formula + 1);
    if (other != NULL && steps < MOST_STEPS)
        return text_of(map, arena, facts, other, steps + 1);
    const int64_t number = integer_of(map, facts, fact->theirs[0], 0);
    return number >= 0 ? cse_arena_printf(arena, "%" PRId64, number) : NULL;
}

/* "[256, 512]"; NULL: not a list of integers. */
static const char *numbers_text(cse_arena *arena, const json_t *list)
{
    size_t i;
    const json_t *entry;
    const char *text = "[";
    json_array_foreach(list, i, entry)
    {
        if (!json_is_integer(entry))
            return NULL;
        text = cse_arena_printf(arena, "%s%s%" PRId64, text, i > 0 ? ", " : "",
                                (int64_t)json_integer_value(entry));
    }
    return cse_arena_printf(arena, "%s]", text);
}

/* ---- layers of two kinds in turn ---- */

static const char *const full_kind = "full_attention", *const sliding_kind = "sliding_attention";

static const char *kind_of_layer(int64_t layer, int64_t period)
{
    return layer % period == 0 ? full_kind : sliding_kind;
}

static bool has_period(const json_t *kinds, int64_t period)
{
    size_t i;
    const json_t *kind;
    bool all = true;
    json_array_foreach(kinds, i, kind)
    {
        all = all && json_is_string(kind) &&
              strcmp(json_string_value(kind), kind_of_layer((int64_t)i, period)) == 0;
    }
    return all;
}

/* The period of a list of kinds, of several the usual one (3); NULL: they have none. */
static const char *period_text(cse_arena *arena, const json_t *kinds)
{
    const int64_t count = (int64_t)json_array_size(kinds);
    int64_t period = has_period(kinds, 3) ? 3 : 1;
    while (period <= count && !has_period(kinds, period))
        period++;
    return period <= count || period == 3 ? cse_arena_printf(arena, "%" PRId64, period) : NULL;
}

json_t *cse_map_period_kinds(int64_t layers, int64_t period)
{
    json_t *kinds = json_array();
    for (int64_t i = 0; i < layers && i < CSE_MAP_LAYERS && period > 0; i++)
        json_array_append_new(kinds, json_string(kind_of_layer(i, period)));
    return kinds;
}

/* A value of theirs as text. */
static const char *given_text(cse_arena *arena, const cse_map_fact *fact, const json_t *value)
{
    if (cse_map_has_form(fact, "list") && json_array_size(value) == 1)
        return cse_map_json_text(arena, json_array_get(value, 0));
    if (cse_map_has_form(fact, "period") && json_is_array(value))
        return period_text(arena, value);
    if (cse_map_has_form(fact, "every_other") && json_is_array(value))
        return cse_map_every_other(value);
    if (cse_map_has_form(fact, "count") && json_is_object(value))
        return cse_arena_printf(arena, "%zu", json_object_size(value));
    if ((cse_map_has_form(fact, "numbers") || cse_map_has_form(fact, "square")) &&
        json_is_array(value))
        return numbers_text(arena, value);
    return cse_map_json_text(arena, value);
}

static const char *text_of(const cse_map *map, cse_arena *arena, const json_t *facts,
                           const cse_map_fact *fact, int steps)
{
    const json_t *value = cse_map_value_of(facts, fact);
    if (json_is_null(value) && cse_map_is_formula(fact->null_is))
        return their_formula(map, arena, facts, fact, steps);
    if (json_is_null(value) && fact->null_is != NULL)
        return cse_map_first_of(fact->null_is);
    if (value != NULL && !(json_is_null(value) && cse_map_takes_null(fact)))
        return given_text(arena, fact, value);
    if (cse_map_is_formula(fact->their_default))
        return their_formula(map, arena, facts, fact, steps);
    return fact->their_default != NULL && fact->their_default->kind == CSE_YAML_SCALAR
               ? fact->their_default->text
               : NULL;
}

/* Their value of a fact as text; NULL: neither given, nor is there a default. */
const char *cse_map_their_text(const cse_map *map, cse_arena *arena, const json_t *facts,
                               const cse_map_fact *fact)
{
    return text_of(map, arena, facts, fact, 0);
}

bool cse_map_holds(const cse_map *map, cse_arena *arena, const json_t *facts,
                   const cse_yaml_node *where)
{
    bool all = true;
    for (int i = 0; where != NULL && i < where->count && all; i++) {
        const cse_map_fact *other = fact_named(map, where->keys[i].text);
        const char *text = other != NULL ? cse_map_their_text(map, arena, facts, other) : NULL;
        all = text != NULL && cse_map_is_among(where->children[i], text);
    }
    return all;
}

bool cse_map_fact_holds(const cse_map *map, cse_arena *arena, const json_t *facts,
                        const cse_map_fact *fact)
{
    return cse_map_holds(map, arena, facts, fact->where) &&
           (fact->except == NULL || !cse_map_holds(map, arena, facts, fact->except));
}

bool cse_map_is_true(const cse_map *map, cse_arena *arena, const json_t *facts, const char *name)
{
    const cse_map_fact *fact = fact_named(map, name);
    /* Whether a weight is missing is said where weights are read, and has no default. */
    const bool is_weight = fact != NULL && cse_map_has_form(fact, "missing_weight");
    const char *text = fact != NULL && !is_weight
                           ? cse_map_their_text(map, arena, facts, fact)
                           : cse_map_json_text(arena, cse_map_their_value(facts, name));
    return text != NULL && strcmp(text, "true") == 0;
}

/* All names of a fact that are given say the same. */
cse_status cse_map_check_agreement(const cse_map *map, cse_arena *arena, const json_t *facts,
                                   const cse_map_fact *fact)
{
    const char *first = NULL, *name = NULL;
    for (int i = 0; i < fact->their_names; i++) {
        const json_t *value = cse_map_their_value(facts, fact->theirs[i]);
        const char *text =
            value != NULL && !json_is_null(value) ? given_text(arena, fact, value) : NULL;
        if (text != NULL && first != NULL && !cse_map_equal(first, text))
            return cse_fail_at(
                &(cse_error){ .status = CSE_DATA,
                              .hint = "remove the one that the weights were not trained with" },
                "%s of the weights is %.80s, but %s is %.80s (%s)", name, first, fact->theirs[i],
                text, map->source);
        if (text != NULL && first == NULL) {
            first = text;
            name = fact->theirs[i];
        }
    }
    return CSE_OK;
}
