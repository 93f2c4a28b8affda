/* Settings from one side to the other. A default of a map that begins with = is made of other
 * settings of its side: =NAME or =NAME/NAME. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/json.h"
#include "engine/formats/weights/map.h"

enum { MOST_STEPS = 8 /* of a default that refers to others */, MOST_LABELS = 1 << 20 };

static bool is_number(const char *text, double *number)
{
    char *end = NULL;
    *number = strtod(text, &end);
    return end != text && *end == '\0';
}

bool cse_map_equal(const char *one, const char *other)
{
    double a, b;
    if (is_number(one, &a) && is_number(other, &b))
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

static const char *first_of(const cse_yaml_node *values)
{
    return values->kind == CSE_YAML_SCALAR ? values->text
           : values->count > 0             ? values->children[0]->text
                                           : "";
}

static bool has_form(const cse_map_fact *fact, const char *form)
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
static const json_t *value_of(const json_t *facts, const cse_map_fact *fact)
{
    const json_t *value = NULL;
    for (int i = 0; i < fact->their_names && (value == NULL || json_is_null(value)); i++) {
        const json_t *found = cse_map_their_value(facts, fact->theirs[i]);
        value = found != NULL ? found : value;
    }
    return value;
}

static void put_theirs(json_t *facts, const char *name, json_t *value, bool flat)
{
    const char *dot = flat ? NULL : strchr(name, '.');
    if (dot == NULL) {
        json_object_set_new(facts, name, value);
        return;
    }
    char first[128];
    snprintf(first, sizeof first, "%.*s", (int)(dot - name), name);
    if (!json_is_object(json_object_get(facts, first)))
        json_object_set_new(facts, first, json_object());
    put_theirs(json_object_get(facts, first), dot + 1, value, flat);
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
static int64_t quotient_of(const cse_map *map, const json_t *facts, const char *text, int steps)
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
    const json_t *value = value_of(facts, fact);
    double fraction = json_number_value(value);
    const bool has_default =
        fact->their_default != NULL && fact->their_default->kind == CSE_YAML_SCALAR;
    if (!json_is_number(value) &&
        (!has_default || !is_number(fact->their_default->text, &fraction)))
        return -1;
    const int64_t whole = quotient_of(map, facts, fact->fraction_of, steps + 1);
    return whole < 0 || fraction < 0 || fraction > 1 ? -1 : (int64_t)((double)whole * fraction);
}

static bool is_formula(const cse_yaml_node *node)
{
    return node != NULL && node->kind == CSE_YAML_SCALAR && *node->text == '=';
}

/* Of our settings, =root(NAME): map_numbers.c. */
static bool is_root_formula(const cse_yaml_node *node)
{
    return is_formula(node) && strncmp(node->text, "=root(", 6) == 0;
}

static int64_t integer_of(const cse_map *map, const json_t *facts, const char *name, int steps)
{
    const cse_map_fact *fact = fact_named(map, name);
    const json_t *value = fact != NULL ? value_of(facts, fact) : cse_map_their_value(facts, name);
    if (*name >= '0' && *name <= '9')
        return strtoll(name, NULL, 10);
    if (fact != NULL && fact->fraction_of != NULL && steps < MOST_STEPS)
        return part_of(map, facts, fact, steps);
    if (json_is_integer(value))
        return json_integer_value(value);
    if (steps < MOST_STEPS && fact != NULL && json_is_null(value) && is_formula(fact->null_is))
        return integer_of(map, facts, fact->null_is->text + 1, steps + 1);
    if (steps >= MOST_STEPS || fact == NULL || fact->their_default == NULL ||
        fact->their_default->kind != CSE_YAML_SCALAR)
        return -1;
    const char *text = fact->their_default->text;
    if (*text == '=')
        return quotient_of(map, facts, text + 1, steps);
    return *text >= '0' && *text <= '9' ? strtoll(text, NULL, 10) : -1;
}

int64_t cse_map_integer(const cse_map *map, const json_t *facts, const char *name)
{
    return integer_of(map, facts, name, 0);
}

/* What is there without a value of theirs: nothing, null, or another fact. */
static bool takes_null(const cse_map_fact *fact)
{
    return is_formula(fact->their_default) ||
           (fact->their_default != NULL && cse_yaml_is_null(fact->their_default));
}

static const char *text_of(const cse_map *map, cse_arena *arena, const json_t *facts,
                           const cse_map_fact *fact, int steps);

/* Another fact, by the formula =NAME, or =NAME/NAME of integers. */
static const char *their_formula(const cse_map *map, cse_arena *arena, const json_t *facts,
                                 const cse_map_fact *fact, int steps)
{
    const bool is_null = json_is_null(value_of(facts, fact)) && is_formula(fact->null_is);
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

static json_t *period_kinds(int64_t layers, int64_t period)
{
    json_t *kinds = json_array();
    for (int64_t i = 0; i < layers && i < CSE_MAP_LAYERS && period > 0; i++)
        json_array_append_new(kinds, json_string(kind_of_layer(i, period)));
    return kinds;
}

/* A value of theirs as text. */
static const char *given_text(cse_arena *arena, const cse_map_fact *fact, const json_t *value)
{
    if (has_form(fact, "list") && json_array_size(value) == 1)
        return cse_map_json_text(arena, json_array_get(value, 0));
    if (has_form(fact, "period") && json_is_array(value))
        return period_text(arena, value);
    if (has_form(fact, "every_other") && json_is_array(value))
        return cse_map_every_other(value);
    if (has_form(fact, "count") && json_is_object(value))
        return cse_arena_printf(arena, "%zu", json_object_size(value));
    if ((has_form(fact, "numbers") || has_form(fact, "square")) && json_is_array(value))
        return numbers_text(arena, value);
    return cse_map_json_text(arena, value);
}

static const char *text_of(const cse_map *map, cse_arena *arena, const json_t *facts,
                           const cse_map_fact *fact, int steps)
{
    const json_t *value = value_of(facts, fact);
    if (json_is_null(value) && is_formula(fact->null_is))
        return their_formula(map, arena, facts, fact, steps);
    if (json_is_null(value) && fact->null_is != NULL)
        return first_of(fact->null_is);
    if (value != NULL && !(json_is_null(value) && takes_null(fact)))
        return given_text(arena, fact, value);
    if (is_formula(fact->their_default))
        return their_formula(map, arena, facts, fact, steps);
    return fact->their_default != NULL && fact->their_default->kind == CSE_YAML_SCALAR
               ? fact->their_default->text
               : NULL;
}

/* Their value of a fact as text; NULL: neither given, nor is there a default. */
static const char *their_text(const cse_map *map, cse_arena *arena, const json_t *facts,
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
        const char *text = other != NULL ? their_text(map, arena, facts, other) : NULL;
        all = text != NULL && cse_map_is_among(where->children[i], text);
    }
    return all;
}

bool cse_map_is_true(const cse_map *map, cse_arena *arena, const json_t *facts, const char *name)
{
    const cse_map_fact *fact = fact_named(map, name);
    const char *text = fact != NULL ? their_text(map, arena, facts, fact)
                                    : cse_map_json_text(arena, cse_map_their_value(facts, name));
    return text != NULL && strcmp(text, "true") == 0;
}

/* All names of a fact that are given say the same. */
static cse_status check_agreement(const cse_map *map, cse_arena *arena, const json_t *facts,
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

static int find_prefixed(const cse_map *map, const cse_weights *weights, const char *name)
{
    char whole[512];
    int found = cse_weights_find(weights, name);
    if (found < 0 && map->prefix != NULL &&
        snprintf(whole, sizeof whole, "%s%s", map->prefix, name) < (int)sizeof whole)
        found = cse_weights_find(weights, whole);
    return found;
}

cse_status cse_map_note_weights(const cse_map *map, cse_weights *weights, json_t *facts)
{
    for (int i = 0; i < map->fact_count; i++) {
        const cse_map_fact *fact = &map->facts[i];
        if (!has_form(fact, "missing_weight"))
            continue;
        const int found = find_prefixed(map, weights, fact->theirs[0]);
        const int other =
            fact->same_as != NULL && found >= 0 ? find_prefixed(map, weights, fact->same_as) : -1;
        bool same = false;
        if (other >= 0)
            CSE_TRY(cse_map_same_elements(weights, found, other, &same));
        json_object_set_new(facts, fact->theirs[0], json_boolean(found < 0 || same));
    }
    return CSE_OK;
}

/* ---- ours ---- */

static const cse_place no_place = { .source = NULL };

/* "8" as the list of both sides. */
static const char *square(cse_arena *arena, const char *side)
{
    return *side == '[' ? side : cse_arena_printf(arena, "[%s, %s]", side, side);
}

/* The names of so many classes, as transformers gives them. */
static json_t *labels(int64_t count)
{
    char key[24], name[32];
    json_t *object = json_object();
    for (int64_t i = 0; i < count && i < MOST_LABELS; i++) {
        snprintf(key, sizeof key, "%" PRId64, i);
        snprintf(name, sizeof name, "LABEL_%" PRId64, i);
        json_object_set_new(object, key, json_string(name));
    }
    return object;
}

/* Puts a value under a name, in which a dot leads into a mapping. */
static void put(cse_arena *arena, cse_yaml_node *settings, const char *name, const char *text)
{
    const char *dot = strchr(name, '.');
    if (dot == NULL) {
        cse_yaml_put(arena, settings, (cse_yaml_key){ name, no_place },
                     *text == '[' ? cse_yaml_literal(arena, no_place, text)
                                  : cse_yaml_scalar_new(arena, no_place, text));
        return;
    }
    const char *first = cse_arena_printf(arena, "%.*s", (int)(dot - name), name);
    cse_yaml_node *below = cse_yaml_find(settings, first);
    if (below == NULL) {
        below = cse_yaml_mapping_new(arena, no_place);
        cse_yaml_put(arena, settings, (cse_yaml_key){ first, no_place }, below);
    }
    put(arena, below, dot + 1, text);
}

static const char *get(const cse_yaml_node *settings, const char *name)
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
        return get(found, dot + 1);
    if (found->kind == CSE_YAML_SEQUENCE && found->count == 2 &&
        found->children[0]->kind == CSE_YAML_SCALAR &&
        found->children[1]->kind == CSE_YAML_SCALAR &&
        strcmp(found->children[0]->text, found->children[1]->text) == 0)
        return found->children[0]->text; /* both sides of a square */
    return found->kind == CSE_YAML_SCALAR ? found->text : NULL;
}

/* A list of scalars as text; NULL: there is none. */
static const char *get_list(cse_arena *arena, const cse_yaml_node *settings, const char *name)
{
    const char *dot = strchr(name, '.');
    const cse_yaml_node *found = cse_yaml_find(
        settings, dot != NULL ? cse_arena_printf(arena, "%.*s", (int)(dot - name), name) : name);
    if (found != NULL && dot != NULL)
        return get_list(arena, found, dot + 1);
    return found == NULL || found->kind == CSE_YAML_SCALAR ? get(settings, name)
                                                           : cse_map_list_of(arena, found);
}

/* Under one name of ours: of a square one side, unless it is none. */
static const char *our_value(cse_arena *arena, const cse_yaml_node *settings,
                             const cse_map_fact *fact, const char *name)
{
    const char *text = has_form(fact, "numbers") ? NULL : get(settings, name);
    const bool may_be_list = has_form(fact, "numbers") || has_form(fact, "square");
    return text == NULL && may_be_list ? get_list(arena, settings, name) : text;
}

static const char *our_text(const cse_map *map, cse_arena *arena, const cse_yaml_node *settings,
                            const cse_map_fact *fact);

/* Another setting of ours, by the formula =NAME or =NAME*NUMBER. */
static const char *our_formula(const cse_map *map, cse_arena *arena, const cse_yaml_node *settings,
                               const char *formula)
{
    const char *times = strchr(formula, '*');
    const size_t length = times != NULL ? (size_t)(times - formula) : strlen(formula);
    for (int i = 0; i < map->fact_count; i++) {
        const cse_map_fact *fact = &map->facts[i];
        if (fact->our_names == 0 || strlen(fact->ours[0]) != length ||
            strncmp(fact->ours[0], formula, length) != 0 ||
            (fact->our_default != NULL && fact->our_default->kind == CSE_YAML_SCALAR &&
             *fact->our_default->text == '='))
            continue; /* no formula refers to another one */
        const char *text = our_text(map, arena, settings, fact);
        return text == NULL || times == NULL
                   ? text
                   : cse_arena_printf(arena, "%" PRId64,
                                      (int64_t)((uint64_t)strtoll(text, NULL, 10) *
                                                (uint64_t)strtoll(times + 1, NULL, 10)));
    }
    return NULL;
}

/* Our value of a fact; NULL: neither given, nor is there a default. */
static const char *our_text(const cse_map *map, cse_arena *arena, const cse_yaml_node *settings,
                            const cse_map_fact *fact)
{
    const char *text = NULL;
    for (int i = 0; i < fact->our_names && text == NULL; i++)
        text = our_value(arena, settings, fact, fact->ours[i]);
    /* A section where a map holds for models without it. */
    const cse_yaml_node *section =
        fact->our_names > 0 ? cse_yaml_find(settings, fact->ours[0]) : NULL;
    if (text == NULL && section != NULL && section->kind == CSE_YAML_MAPPING && section->count > 0)
        return cse_map_list_of(arena, section);
    if (text != NULL || fact->our_default == NULL || fact->our_default->kind != CSE_YAML_SCALAR)
        return text;
    return *fact->our_default->text == '='
               ? our_formula(map, arena, settings, fact->our_default->text + 1)
               : fact->our_default->text;
}

/* ---- from theirs to ours ---- */

static cse_status wrong_value(const cse_map *map, const char *name, const char *text,
                              const char *accepted)
{
    return cse_fail(CSE_DATA,
                    "%s of the weights is %.80s, for which the map %s does not hold; accepted: %s",
                    name, text, map->source, accepted);
}

static cse_status take_list(const cse_map *map, cse_arena *arena, const json_t *facts,
                            const cse_map_fact *fact, cse_yaml_node *settings)
{
    const char *text = NULL;
    CSE_TRY(cse_map_take_list(&(cse_map_sides){ map, arena, facts, settings }, fact, &text));
    if (text != NULL)
        put(arena, settings, fact->ours[0], text);
    return CSE_OK;
}

/* Puts a setting whose unit is another one here, unless it is what the model takes without it. */
static cse_status take_converted(const cse_map_sides *sides, const cse_map_fact *fact,
                                 const char *text, cse_yaml_node *settings)
{
    const char *ours = cse_map_convert(sides, fact, text, true);
    if (ours == NULL)
        return wrong_value(sides->map, fact->theirs[0], text, "a number above 0");
    const char *before = our_text(sides->map, sides->arena, settings, fact);
    if (before == NULL || !cse_map_equal(before, ours))
        put(sides->arena, settings, fact->ours[0], ours);
    return CSE_OK;
}

static cse_status take_theirs(const cse_map *map, cse_arena *arena, const json_t *facts,
                              const cse_map_fact *fact, cse_yaml_node *settings)
{
    if (!cse_map_holds(map, arena, facts, fact->where))
        return CSE_OK;
    if (cse_map_is_list(fact))
        return take_list(map, arena, facts, fact, settings);
    CSE_TRY(check_agreement(map, arena, facts, fact));
    const json_t *value = value_of(facts, fact);
    const char *text = their_text(map, arena, facts, fact);
    if (text == NULL && value != NULL)
        return wrong_value(map, fact->theirs[0], "a list or an object",
                           has_form(fact, "period") ? "full_attention first and in each layer that "
                                                      "a number divides, else sliding_attention"
                                                    : "one value");
    if (text == NULL)
        return cse_fail(CSE_DATA, "the weights do not say %s, which the map %s needs",
                        fact->theirs[0], map->source);
    if (json_is_null(value) && fact->fixed == NULL && fact->null_is == NULL && !takes_null(fact))
        return wrong_value(map, fact->theirs[0], "null", "a value");
    if (fact->fixed != NULL && !cse_map_is_among(fact->fixed, text))
        return wrong_value(map, fact->theirs[0], text, cse_map_list_of(arena, fact->fixed));
    if (strcmp(text, "null") == 0 && takes_null(fact))
        return CSE_OK;
    if (fact->values != NULL) {
        const cse_yaml_node *ours = cse_yaml_find(fact->values, text);
        if (ours == NULL)
            return wrong_value(map, fact->theirs[0], text, cse_map_list_of(arena, fact->values));
        text = first_of(ours);
    }
    if (fact->fraction_of != NULL) {
        const int64_t number = cse_map_integer(map, facts, fact->theirs[0]);
        if (number < 0)
            return wrong_value(map, fact->theirs[0], text, "a number from 0 to 1");
        text = cse_arena_printf(arena, "%" PRId64, number);
    }
    if (has_form(fact, "given") && strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
        return wrong_value(map, fact->theirs[0], text, "true, false");
    if (has_form(fact, "given"))
        return CSE_OK; /* the fact of the value itself goes by it */
    if (cse_map_is_converted(fact) && strcmp(text, "null") != 0)
        return take_converted(&(cse_map_sides){ map, arena, facts, settings }, fact, text,
                              settings);
    if (fact->our_names > 0 && get(settings, fact->ours[0]) == NULL && strcmp(text, "null") != 0)
        put(arena, settings, fact->ours[0], has_form(fact, "square") ? square(arena, text) : text);
    return CSE_OK;
}

/* The one value of a fact of ours alone; a formula is one of their facts. */
static const char *fixed_text(const cse_map *map, cse_arena *arena, const json_t *facts,
                              const cse_map_fact *fact)
{
    if (!is_formula(fact->fixed))
        return first_of(fact->fixed);
    return cse_arena_printf(arena, "%" PRId64, quotient_of(map, facts, fact->fixed->text + 1, 0));
}

cse_status cse_map_settings(const cse_map *map, cse_arena *arena, const json_t *facts,
                            cse_yaml_node **settings)
{
    *settings = cse_yaml_mapping_new(arena, no_place);
    for (int i = 0; i < map->fact_count; i++) {
        const cse_map_fact *fact = &map->facts[i];
        if (fact->their_names == 0 && !fact->unwritten && !is_root_formula(fact->fixed) &&
            cse_map_holds(map, arena, facts, fact->where))
            put(arena, *settings, fact->ours[0], fixed_text(map, arena, facts, fact));
        if (fact->their_names > 0 && fact->written == NULL)
            CSE_TRY(take_theirs(map, arena, facts, fact, *settings));
    }
    for (int i = 0; i < map->fact_count; i++) {
        const char *made = cse_map_fixed_text(arena, &map->facts[i], *settings);
        if (made != NULL)
            put(arena, *settings, map->facts[i].ours[0], made);
    }
    return CSE_OK;
}

/* ---- from ours to theirs ---- */

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
    if (!is_number(node->text, &number) || !isfinite(number))
        return json_string(node->text);
    return strpbrk(node->text, ".eE") != NULL ? json_real(number)
                                              : json_integer(strtoll(node->text, NULL, 10));
}

/* Writes 0 as 0.0 where the default of the other program is a float: transformers 5 refuses an
 * integer there. */
static json_t *as_their_number(const cse_map_fact *fact, json_t *value)
{
    const cse_yaml_node *like =
        fact->their_default != NULL ? fact->their_default : fact->our_default;
    json_t *theirs = like != NULL ? cse_map_json_of(like) : NULL;
    if (json_is_integer(value) && json_is_real(theirs)) {
        json_t *real = json_real((double)json_integer_value(value));
        json_decref(value);
        value = real;
    }
    json_decref(theirs);
    return value;
}

/* The number of ours as a fraction that their program makes the number of again. */
static json_t *fraction(const cse_map *map, const json_t *facts, const cse_map_fact *fact,
                        int64_t number)
{
    const int64_t whole = quotient_of(map, facts, fact->fraction_of, 0);
    double part = whole > 0 ? (double)number / (double)whole : 0;
    if ((int64_t)((double)whole * part) < number)
        part = nextafter(part, 2);
    return json_real(part);
}

static cse_status give_list(const cse_map *map, cse_arena *arena, const cse_yaml_node *settings,
                            const cse_map_fact *fact, json_t *facts)
{
    json_t *value = NULL;
    CSE_TRY(cse_map_give_list(&(cse_map_sides){ map, arena, facts, settings }, fact, &value));
    put_theirs(facts, fact->theirs[0], value, strcmp(map->kind, "gguf") == 0);
    return CSE_OK;
}

static cse_status give_theirs(const cse_map *map, cse_arena *arena, const cse_yaml_node *settings,
                              const cse_map_fact *fact, json_t *facts)
{
    if (cse_map_is_list(fact))
        return give_list(map, arena, settings, fact, facts);
    const char *text = our_text(map, arena, settings, fact);
    if (has_form(fact, "given"))
        text = text != NULL && strcmp(text, "null") != 0 ? "true" : "false";
    if (text != NULL && cse_map_is_converted(fact) && strcmp(text, "null") != 0)
        text = cse_map_convert(&(cse_map_sides){ map, arena, facts, settings }, fact, text, false);
    if (text == NULL)
        return cse_fail(CSE_DATA, "the model does not say %s, which the map %s needs",
                        fact->ours[0], map->source);
    if (fact->values != NULL) {
        const char *theirs = NULL;
        for (int i = 0; i < fact->values->count && theirs == NULL; i++)
            if (cse_map_is_among(fact->values->children[i], text))
                theirs = fact->values->keys[i].text;
        if (theirs == NULL)
            return cse_fail(CSE_DATA,
                            "%s of the model is %.80s, for which %s has no value; accepted (theirs:"
                            " ours): %s",
                            fact->ours[0], text, map->source, cse_map_list_of(arena, fact->values));
        text = theirs;
    }
    if (strcmp(text, "null") == 0 && strchr(fact->theirs[0], '.') != NULL)
        return CSE_OK; /* nothing is put into an object that would say nothing */
    json_t *value = has_form(fact, "count") ? labels(strtoll(text, NULL, 10))
                    : has_form(fact, "every_other")
                        ? cse_map_every_other_list(strcmp(text, "true") == 0,
                                                   cse_map_integer(map, facts, map->layers))
                    : fact->fraction_of != NULL
                        ? fraction(map, facts, fact, strtoll(text, NULL, 10))
                    : *text == '[' ? cse_map_json_of(cse_yaml_literal(arena, no_place, text))
                                   : cse_map_json_of(cse_yaml_scalar_new(arena, no_place, text));
    if (value == NULL)
        return cse_fail(CSE_DATA, "%s of the model needs an even number of layers (%s)",
                        fact->ours[0], map->source);
    value = as_their_number(fact, value);
    if (has_form(fact, "list"))
        value = json_pack("[o]", value);
    if (has_form(fact, "period")) {
        json_decref(value);
        value = period_kinds(cse_map_integer(map, facts, map->layers), strtoll(text, NULL, 10));
    }
    const json_t *before = cse_map_their_value(facts, fact->theirs[0]);
    if (before != NULL && !json_equal(before, value)) {
        json_decref(value);
        return cse_fail(CSE_DATA,
                        "%s of the model is %.80s, which is not what its other settings make of %s "
                        "(%s)",
                        fact->ours[0], text, fact->theirs[0], map->source);
    }
    put_theirs(facts, fact->theirs[0], value, strcmp(map->kind, "gguf") == 0);
    return CSE_OK;
}

/* Our value is one that the map holds for. */
static cse_status check_fixed(const cse_map *map, cse_arena *arena, const cse_yaml_node *settings,
                              const cse_map_fact *fact, const json_t *facts)
{
    const char *ours = fact->our_names > 0 ? our_text(map, arena, settings, fact) : NULL;
    const cse_yaml_node *list =
        fact->our_names > 0 && fact->fixed != NULL ? cse_yaml_find(settings, fact->ours[0]) : NULL;
    if (list != NULL && list->kind == CSE_YAML_SEQUENCE && get(settings, fact->ours[0]) == NULL)
        ours = "a list";
    if (ours == NULL || fact->fixed == NULL)
        return CSE_OK;
    const bool formula = is_formula(fact->fixed);
    const char *made = cse_map_fixed_text(arena, fact, settings);
    const char *only = made != NULL ? made : formula ? fixed_text(map, arena, facts, fact) : NULL;
    if (formula ? cse_map_equal(only, ours) : cse_map_is_among(fact->fixed, ours))
        return CSE_OK;
    return cse_fail(
        CSE_DATA, "%s of the model is %.80s, for which the map %s does not hold; accepted: %s",
        fact->ours[0], ours, map->source, formula ? only : cse_map_list_of(arena, fact->fixed));
}

static cse_status give(const cse_map *map, cse_arena *arena, const cse_yaml_node *settings,
                       const cse_map_fact *fact, json_t *facts)
{
    if (!cse_map_holds(map, arena, facts, fact->where))
        return CSE_OK;
    CSE_TRY(check_fixed(map, arena, settings, fact, facts));
    if (fact->their_names == 0 || has_form(fact, "missing_weight"))
        return CSE_OK;
    if (fact->written != NULL) {
        put_theirs(facts, fact->theirs[0], cse_map_json_of(fact->written),
                   strcmp(map->kind, "gguf") == 0);
        return CSE_OK;
    }
    if (fact->our_names > 0)
        return give_theirs(map, arena, settings, fact, facts);
    const cse_yaml_node *first =
        fact->fixed->kind == CSE_YAML_SEQUENCE ? fact->fixed->children[0] : fact->fixed;
    put_theirs(facts, fact->theirs[0], cse_map_json_of(first), strcmp(map->kind, "gguf") == 0);
    return CSE_OK;
}

cse_status cse_map_facts(const cse_map *map, cse_arena *arena, const cse_yaml_node *settings,
                         json_t **facts)
{
    CSE_TRY(cse_map_check_ours(map, arena, settings));
    cse_status status = CSE_OK;
    *facts = json_object();
    for (int i = 0; i < map->fact_count && status == CSE_OK; i++)
        status = give(map, arena, settings, &map->facts[i], *facts);
    if (status != CSE_OK) {
        json_decref(*facts);
        *facts = NULL;
    }
    return status;
}

/* ---- configurations ---- */

cse_status cse_map_model_section(cse_arena *arena, const char *configuration, const char **model,
                                 cse_yaml_node **settings)
{
    static const char *const name_key[] = { "name", NULL };
    cse_yaml_node *root = NULL;
    CSE_TRY(cse_yaml_parse(arena, "configuration", configuration, strlen(configuration), &root));
    const cse_yaml_node *section =
        cse_yaml_find(cse_yaml_find(cse_yaml_find(root, "trainer"), "init"), "model");
    const cse_yaml_node *name = section != NULL ? cse_yaml_find(section, "name") : NULL;
    if (name != NULL && name->kind == CSE_YAML_SCALAR) {
        *model = name->text;
        *settings = cse_yaml_without(arena, section, name_key);
        return CSE_OK;
    }
    if (section == NULL || section->kind != CSE_YAML_MAPPING || section->count != 1)
        return cse_fail(CSE_DATA, "the configuration has no section trainer.init.model");
    *model = section->keys[0].text;
    *settings = section->children[0]->kind == CSE_YAML_MAPPING
                    ? section->children[0]
                    : cse_yaml_mapping_new(arena, no_place);
    return CSE_OK;
}

cse_yaml_node *cse_map_configuration(cse_arena *arena, const char *model,
                                     const cse_yaml_node *settings)
{
    cse_yaml_node *root = cse_yaml_mapping_new(arena, no_place);
    cse_yaml_node *trainer = cse_yaml_mapping_new(arena, no_place);
    cse_yaml_node *init = cse_yaml_mapping_new(arena, no_place);
    cse_yaml_node *section = cse_yaml_mapping_new(arena, no_place);
    put(arena, section, "name", model);
    for (int i = 0; i < settings->count; i++)
        cse_yaml_put(arena, section, settings->keys[i], settings->children[i]);
    cse_yaml_put(arena, init, (cse_yaml_key){ "model", no_place }, section);
    cse_yaml_put(arena, trainer, (cse_yaml_key){ "init", no_place }, init);
    cse_yaml_put(arena, root, (cse_yaml_key){ "trainer", no_place }, trainer);
    return root;
}
