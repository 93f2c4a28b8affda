/* Settings from one side to the other. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/json.h"
#include "engine/formats/weights/map_values.h"

enum { MOST_STEPS = 8 /* of a default that refers to others */, MOST_LABELS = 1 << 20 };

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
        if (!cse_map_has_form(fact, "missing_weight"))
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

/* A list of scalars as text; NULL: there is none. */
static const char *get_list(cse_arena *arena, const cse_yaml_node *settings, const char *name)
{
    const char *dot = strchr(name, '.');
    const cse_yaml_node *found = cse_yaml_find(
        settings, dot != NULL ? cse_arena_printf(arena, "%.*s", (int)(dot - name), name) : name);
    if (found != NULL && dot != NULL)
        return get_list(arena, found, dot + 1);
    return found == NULL || found->kind == CSE_YAML_SCALAR ? cse_map_our_setting(settings, name)
                                                           : cse_map_list_of(arena, found);
}

/* Under one name of ours: of a square one side, unless it is none. */
static const char *our_value(cse_arena *arena, const cse_yaml_node *settings,
                             const cse_map_fact *fact, const char *name)
{
    const char *text =
        cse_map_has_form(fact, "numbers") ? NULL : cse_map_our_setting(settings, name);
    const bool may_be_list = cse_map_has_form(fact, "numbers") || cse_map_has_form(fact, "square");
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

/* The name under which their value is given, or else the one that is written. */
static const char *given_name(const json_t *facts, const cse_map_fact *fact)
{
    for (int i = 0; i < fact->their_names; i++)
        if (cse_map_their_value(facts, fact->theirs[i]) != NULL)
            return fact->theirs[i];
    return fact->theirs[0];
}

static bool is_below(const cse_map_fact *fact, const char *text)
{
    return fact->least != NULL && strtod(text, NULL) < strtod(fact->least->text, NULL);
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
    if (!cse_map_fact_holds(map, arena, facts, fact))
        return CSE_OK;
    if (cse_map_is_list(fact))
        return take_list(map, arena, facts, fact, settings);
    CSE_TRY(cse_map_check_agreement(map, arena, facts, fact));
    const json_t *value = cse_map_value_of(facts, fact);
    const char *text = cse_map_their_text(map, arena, facts, fact);
    if (text == NULL && value != NULL)
        return wrong_value(map, fact->theirs[0], "a list or an object",
                           cse_map_has_form(fact, "period")
                               ? "full_attention first and in each layer that "
                                 "a number divides, else sliding_attention"
                               : "one value");
    if (text == NULL)
        return cse_fail(CSE_DATA, "the weights do not say %s, which the map %s needs",
                        fact->theirs[0], map->source);
    if (json_is_null(value) && fact->fixed == NULL && fact->null_is == NULL &&
        !cse_map_takes_null(fact))
        return wrong_value(map, fact->theirs[0], "null", "a value");
    if (fact->fixed != NULL && !cse_map_is_among(fact->fixed, text))
        return wrong_value(map, fact->theirs[0], text, cse_map_list_of(arena, fact->fixed));
    if (is_below(fact, text))
        return wrong_value(map, given_name(facts, fact), text,
                           cse_arena_printf(arena, "%s or more", fact->least->text));
    if (strcmp(text, "null") == 0 && cse_map_takes_null(fact))
        return CSE_OK;
    if (fact->none_is != NULL && cse_map_equal(text, fact->none_is))
        return CSE_OK;
    if (fact->values != NULL) {
        const cse_yaml_node *ours = cse_yaml_find(fact->values, text);
        if (ours == NULL)
            return wrong_value(map, fact->theirs[0], text, cse_map_list_of(arena, fact->values));
        text = cse_map_first_of(ours);
    }
    if (fact->fraction_of != NULL) {
        const int64_t number = cse_map_integer(map, facts, fact->theirs[0]);
        if (number < 0)
            return wrong_value(map, fact->theirs[0], text, "a number from 0 to 1");
        text = cse_arena_printf(arena, "%" PRId64, number);
    }
    if (cse_map_has_form(fact, "given") && strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
        return wrong_value(map, fact->theirs[0], text, "true, false");
    if (cse_map_has_form(fact, "given"))
        return CSE_OK; /* the fact of the value itself goes by it */
    if (cse_map_is_converted(fact) && strcmp(text, "null") != 0)
        return take_converted(&(cse_map_sides){ map, arena, facts, settings }, fact, text,
                              settings);
    if (fact->our_names > 0 && cse_map_our_setting(settings, fact->ours[0]) == NULL &&
        strcmp(text, "null") != 0)
        put(arena, settings, fact->ours[0],
            cse_map_has_form(fact, "square") ? square(arena, text) : text);
    return CSE_OK;
}

/* The one value of a fact of ours alone; a formula is one of their facts. */
static const char *fixed_text(const cse_map *map, cse_arena *arena, const json_t *facts,
                              const cse_map_fact *fact)
{
    if (!cse_map_is_formula(fact->fixed))
        return cse_map_first_of(fact->fixed);
    if (cse_map_is_inverse_root(fact->fixed))
        return cse_map_inverse_root_of(map, arena, facts, fact->fixed->text);
    return cse_arena_printf(arena, "%" PRId64,
                            cse_map_quotient(map, facts, fact->fixed->text + 1, 0));
}

cse_status cse_map_settings(const cse_map *map, cse_arena *arena, const json_t *facts,
                            cse_yaml_node **settings)
{
    *settings = cse_yaml_mapping_new(arena, no_place);
    for (int i = 0; i < map->fact_count; i++) {
        const cse_map_fact *fact = &map->facts[i];
        if (fact->their_names == 0 && !fact->unwritten && !cse_map_is_root_formula(fact->fixed) &&
            cse_map_fact_holds(map, arena, facts, fact))
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
    const int64_t whole = cse_map_quotient(map, facts, fact->fraction_of, 0);
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
    if (value == NULL)
        return CSE_OK;
    if (!fact->unwritten)
        put_theirs(facts, fact->theirs[0], value, strcmp(map->kind, "gguf") == 0);
    else
        json_decref(value);
    return CSE_OK;
}

static cse_status give_theirs(const cse_map *map, cse_arena *arena, const cse_yaml_node *settings,
                              const cse_map_fact *fact, json_t *facts)
{
    if (cse_map_is_list(fact))
        return give_list(map, arena, settings, fact, facts);
    const char *text = our_text(map, arena, settings, fact);
    if (cse_map_has_form(fact, "given"))
        text = text != NULL && strcmp(text, "null") != 0 ? "true" : "false";
    if (text != NULL && cse_map_is_converted(fact) &&
        (strcmp(text, "null") != 0 || cse_map_has_form(fact, "longrope_attention")))
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
    if (strcmp(text, "null") == 0 && fact->none_is != NULL && !cse_map_takes_null(fact))
        text = fact->none_is;
    if (strcmp(text, "null") == 0 && strchr(fact->theirs[0], '.') != NULL)
        return CSE_OK; /* nothing is put into an object that would say nothing */
    json_t *value = cse_map_has_form(fact, "count") ? labels(strtoll(text, NULL, 10))
                    : cse_map_has_form(fact, "every_other")
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
    if (cse_map_has_form(fact, "list"))
        value = json_pack("[o]", value);
    if (cse_map_has_form(fact, "period")) {
        json_decref(value);
        value =
            cse_map_period_kinds(cse_map_integer(map, facts, map->layers), strtoll(text, NULL, 10));
    }
    if (fact->omitted && fact->their_default != NULL &&
        cse_map_equal(text, cse_map_first_of(fact->their_default))) {
        json_decref(value);
        return CSE_OK;
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
    if (list != NULL && list->kind == CSE_YAML_SEQUENCE &&
        cse_map_our_setting(settings, fact->ours[0]) == NULL)
        ours = "a list";
    if (ours != NULL && is_below(fact, ours))
        return cse_fail(CSE_DATA,
                        "%s of the model is %.80s, for which the map %s does not hold; accepted: "
                        "%s or more",
                        fact->ours[0], ours, map->source, fact->least->text);
    if (ours == NULL || fact->fixed == NULL)
        return CSE_OK;
    const bool formula = cse_map_is_formula(fact->fixed);
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
    if (!cse_map_fact_holds(map, arena, facts, fact))
        return CSE_OK;
    if (!cse_map_is_list(fact))
        CSE_TRY(check_fixed(map, arena, settings, fact, facts));
    /* Which weights theirs lack is a fact for rules where names are flat. */
    const bool of_weight =
        cse_map_has_form(fact, "missing_weight") && strcmp(map->kind, "gguf") != 0;
    if (fact->their_names == 0 || of_weight || (fact->unwritten && !cse_map_is_list(fact)))
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
