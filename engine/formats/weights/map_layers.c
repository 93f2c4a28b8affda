/* Facts that are lists: numbers as they are (form: factors), or one word for each layer (form:
 * layers), which is 1 or 0 here. What a list of layers is where it is not given, `missing` says:
 *
 *   {from: FACT}       1 from the layer of that number on
 *   {but_every: FACT}  0 for the last of each so many layers, 1 for the others
 *   {not: FACT}        the other way round than another such list
 *
 * where FACT may be a number, or a list [FACT, NUMBER] of a fact and its default. `needs` names a
 * setting of ours without which all are 0, and there is no list.
 *
 * Where theirs is the number alone of {but_every: NUMBER}, the form is but_every. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/formats/weights/map_values.h"

static const cse_place no_place = { .source = NULL };

static int64_t layers_of(const cse_map *map, const json_t *facts)
{
    return cse_map_integer(map, facts, map->layers);
}

/* ---- what is missing ---- */

static int64_t number_of(const cse_map *map, const json_t *facts, const cse_yaml_node *node)
{
    const cse_yaml_node *first = node->kind == CSE_YAML_SEQUENCE ? node->children[0] : node;
    char *end = NULL;
    const int64_t number = strtoll(first->text, &end, 10);
    if (end != first->text && *end == '\0')
        return number;
    const int64_t given = cse_map_integer(map, facts, first->text);
    return given < 0 && first != node && node->count > 1
               ? strtoll(node->children[1]->text, NULL, 10)
               : given;
}

static const cse_map_fact *list_named(const cse_map *map, const char *theirs)
{
    for (int i = 0; i < map->fact_count; i++)
        if (map->facts[i].their_names > 0 && cse_map_is_list(&map->facts[i]) &&
            strcmp(map->facts[i].theirs[0], theirs) == 0)
            return &map->facts[i];
    return NULL;
}

static cse_status read_layers(const cse_map *map, cse_arena *arena, const json_t *facts,
                              const cse_map_fact *fact, int *layers);

static cse_status make_layers(const cse_map *map, cse_arena *arena, const json_t *facts,
                              const cse_map_fact *fact, int *layers)
{
    const cse_yaml_node *missing = fact->missing;
    const char *rule = missing != NULL ? missing->keys[0].text : "";
    const int64_t count = layers_of(map, facts);
    if (missing == NULL)
        return cse_fail(CSE_DATA, "the weights do not say %s, which the map %s needs",
                        fact->theirs[0], map->source);
    if (strcmp(rule, "not") == 0) {
        const cse_map_fact *other = list_named(map, missing->children[0]->text);
        if (other == NULL || other == fact)
            return cse_fail(CSE_CONFIG, "the map %s has no list %s", map->source,
                            missing->children[0]->text);
        CSE_TRY(read_layers(map, arena, facts, other, layers));
        for (int64_t i = 0; i < count; i++)
            layers[i] = !layers[i];
        return CSE_OK;
    }
    const int64_t number = number_of(map, facts, missing->children[0]);
    const bool every = strcmp(rule, "but_every") == 0;
    if (number < 0 || (every && number == 0))
        return cse_fail(CSE_DATA, "%s of the weights, which %s is made of (%s), is no number", rule,
                        fact->theirs[0], map->source);
    for (int64_t i = 0; i < count; i++)
        layers[i] = every ? (i + 1) % number != 0 : i >= number;
    return CSE_OK;
}

/* ---- what is given ---- */

static cse_status read_layers(const cse_map *map, cse_arena *arena, const json_t *facts,
                              const cse_map_fact *fact, int *layers)
{
    const json_t *list = cse_map_their_value(facts, fact->theirs[0]);
    const int64_t count = layers_of(map, facts);
    if (list == NULL || json_is_null(list))
        return make_layers(map, arena, facts, fact, layers);
    if (!json_is_array(list) || (int64_t)json_array_size(list) < count)
        return cse_fail(CSE_DATA,
                        "%s of the weights must be a list with an entry for each layer, and %s "
                        "is %lld (%s)",
                        fact->theirs[0], map->layers, (long long)count, map->source);
    for (int64_t i = 0; i < count; i++) {
        const char *word = cse_map_json_text(arena, json_array_get(list, (size_t)i));
        const cse_yaml_node *ours =
            word != NULL && fact->values != NULL ? cse_yaml_find(fact->values, word) : NULL;
        if (ours == NULL)
            return cse_fail(CSE_DATA, "%s of the weights has %.60s for layer %lld; accepted: %s",
                            fact->theirs[0], word != NULL ? word : "a list", (long long)i,
                            cse_map_list_of(arena, fact->values));
        layers[i] = strcmp(ours->text, "1") == 0;
    }
    return CSE_OK;
}

/* The shortest list that, begun again where it ends, gives the whole. */
static int64_t period_of(const int *layers, int64_t count)
{
    int64_t period = 1;
    bool fits = false;
    while (!fits) {
        fits = true;
        for (int64_t i = period; i < count && fits; i++)
            fits = layers[i] == layers[i - period];
        period += !fits;
    }
    return period;
}

static const char *layers_text(cse_arena *arena, const int *layers, int64_t count)
{
    cse_text text = { 0 };
    for (int64_t i = 0; i < count; i++)
        cse_text_add(&text, "%s%d", i > 0 ? ", " : "[", layers[i]);
    cse_text_add(&text, "]");
    const char *list = cse_arena_string(arena, text.data);
    cse_text_clear(&text);
    return list;
}

static const char *numbers_text(cse_arena *arena, const json_t *list)
{
    cse_text text = { 0 };
    bool good = json_is_array(list);
    for (size_t i = 0; good && i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        good = json_is_number(entry);
        if (good)
            cse_text_add(&text, "%s%s", i > 0 ? ", " : "[", cse_map_json_text(arena, entry));
    }
    cse_text_add(&text, text.data == NULL ? "[]" : "]");
    const char *result = good ? cse_arena_string(arena, text.data) : NULL;
    cse_text_clear(&text);
    return result;
}

static bool has_setting(const cse_yaml_node *settings, const char *name)
{
    const cse_yaml_node *found = cse_yaml_find(settings, name);
    return found != NULL && !cse_yaml_is_null(found);
}

static int64_t count_of_ones(const int *layers, int64_t count)
{
    int64_t ones = 0;
    for (int64_t i = 0; i < count; i++)
        ones += layers[i];
    return ones;
}

/* 1 for all layers but each so many-th. */
static void fill_but_every(int64_t number, int *layers, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        layers[i] = (i + 1) % number != 0;
}

static cse_status take_but_every(const cse_map_sides *sides, const cse_map_fact *fact,
                                 const char **text)
{
    const int64_t count = layers_of(sides->map, sides->facts);
    const char *said = cse_map_their_text(sides->map, sides->arena, sides->facts, fact);
    const int64_t number = said != NULL ? strtoll(said, NULL, 10) : 0;
    if (count < 1 || count > CSE_MAP_LAYERS || number < 1 || number > INT32_MAX ||
        (fact->fixed != NULL && !cse_map_is_among(fact->fixed, said)))
        return cse_fail(CSE_DATA, "%s of the weights is %.40s; accepted: %s (%s)", fact->theirs[0],
                        said != NULL ? said : "missing",
                        fact->fixed != NULL ? cse_map_list_of(sides->arena, fact->fixed)
                                            : "a number above 0",
                        sides->map->source);
    if (fact->needs != NULL && !has_setting(sides->settings, fact->needs))
        return CSE_OK;
    int *layers = cse_arena_alloc(sides->arena, (size_t)count * sizeof *layers);
    fill_but_every(number, layers, count);
    if (count_of_ones(layers, count) < count)
        *text = layers_text(sides->arena, layers, period_of(layers, count));
    return CSE_OK;
}

static cse_status take_layers(const cse_map_sides *sides, const cse_map_fact *fact,
                              const char **text)
{
    const cse_map *map = sides->map;
    const int64_t count = layers_of(map, sides->facts);
    if (count < 1 || count > CSE_MAP_LAYERS)
        return cse_fail(CSE_DATA, "%s of the weights is missing or above %d", map->layers,
                        CSE_MAP_LAYERS);
    const json_t *given = cse_map_their_value(sides->facts, fact->theirs[0]);
    int *layers = cse_arena_alloc(sides->arena, (size_t)count * sizeof *layers);
    CSE_TRY(read_layers(map, sides->arena, sides->facts, fact, layers));
    const int64_t ones = count_of_ones(layers, count);
    *text = NULL;
    if (fact->needs != NULL && !has_setting(sides->settings, fact->needs))
        return ones == 0 || given == NULL || json_is_null(given)
                   ? CSE_OK
                   : cse_fail(CSE_DATA,
                              "%s of the weights has layers that need %s, which other keys leave "
                              "out (%s)",
                              fact->theirs[0], fact->needs, map->source);
    if (ones < count)
        *text = layers_text(sides->arena, layers, period_of(layers, count));
    return CSE_OK;
}

cse_status cse_map_take_list(const cse_map_sides *sides, const cse_map_fact *fact,
                             const char **text)
{
    *text = NULL;
    if (strcmp(fact->form, "layers") == 0)
        return take_layers(sides, fact, text);
    if (strcmp(fact->form, "but_every") == 0)
        return take_but_every(sides, fact, text);
    const json_t *list = cse_map_their_value(sides->facts, fact->theirs[0]);
    for (int i = 1; i < fact->their_names && (list == NULL || json_is_null(list)); i++)
        list = cse_map_their_value(sides->facts, fact->theirs[i]);
    *text = numbers_text(sides->arena, list);
    if (list == NULL && strcmp(fact->form, "elements") == 0)
        return cse_fail(CSE_DATA, "there is no weight '%s', which the map %s needs",
                        fact->theirs[0], sides->map->source);
    return *text != NULL ? CSE_OK
                         : cse_fail(CSE_DATA, "%s of the weights must be a list of numbers (%s)",
                                    fact->theirs[0], sides->map->source);
}

/* ---- from ours to theirs ---- */

static const cse_yaml_node *our_list(const cse_yaml_node *settings, const char *name)
{
    char first[128];
    const char *dot = strchr(name, '.');
    if (dot == NULL)
        return cse_yaml_find(settings, name);
    snprintf(first, sizeof first, "%.*s", (int)(dot - name), name);
    const cse_yaml_node *below = cse_yaml_find(settings, first);
    return below != NULL ? our_list(below, dot + 1) : NULL;
}

/* Their word for 1 or 0. */
static const char *word_of(const cse_map_fact *fact, bool is_on)
{
    const char *word = "";
    for (int i = 0; fact->values != NULL && i < fact->values->count; i++)
        if ((strcmp(fact->values->children[i]->text, "1") == 0) == is_on)
            word = fact->values->keys[i].text;
    return word;
}

/* Whether the setting is 1 for a layer. */
static bool is_on_in(const cse_yaml_node *list, int64_t layer)
{
    return list == NULL || list->kind != CSE_YAML_SEQUENCE || list->count == 0 ||
           strcmp(list->children[layer % list->count]->text, "0") != 0;
}

/* The number of {but_every: NUMBER}, of several the usual one; *value: NULL, it is not said. */
static cse_status give_but_every(const cse_map_sides *sides, const cse_map_fact *fact,
                                 json_t **value)
{
    const cse_yaml_node *list = our_list(sides->settings, fact->ours[0]);
    const int64_t count = layers_of(sides->map, sides->facts);
    const int64_t usual = fact->their_default != NULL ? atoi(fact->their_default->text) : 1;
    if (fact->needs != NULL && !has_setting(sides->settings, fact->needs))
        return CSE_OK;
    for (int64_t i = 0; i <= count + 1; i++) {
        const int64_t number = i == 0 ? usual : i;
        bool fits = number > 0;
        for (int64_t k = 0; k < count && fits; k++)
            fits = is_on_in(list, k) == ((k + 1) % number != 0);
        if (fits &&
            (fact->fixed == NULL ||
             cse_map_is_among(fact->fixed, cse_arena_printf(sides->arena, "%" PRId64, number)))) {
            *value = json_integer(number);
            return CSE_OK;
        }
    }
    return cse_fail(CSE_DATA,
                    "%s of the model is not 1 for all layers but each %s-th, as the other program "
                    "has them (%s)",
                    fact->ours[0],
                    fact->fixed != NULL ? cse_map_list_of(sides->arena, fact->fixed) : "n",
                    sides->map->source);
}

static json_t *give_layers(const cse_map_sides *sides, const cse_map_fact *fact)
{
    const cse_yaml_node *list = our_list(sides->settings, fact->ours[0]);
    const int64_t count = layers_of(sides->map, sides->facts);
    const bool all = fact->needs == NULL || has_setting(sides->settings, fact->needs);
    json_t *theirs = json_array();
    for (int64_t i = 0; i < count && i < CSE_MAP_LAYERS; i++) {
        const bool is_on = all && is_on_in(list, i);
        json_array_append_new(theirs, cse_map_json_of(cse_yaml_scalar_new(sides->arena, no_place,
                                                                          word_of(fact, is_on))));
    }
    return theirs;
}

cse_status cse_map_give_list(const cse_map_sides *sides, const cse_map_fact *fact, json_t **value)
{
    const cse_yaml_node *list = our_list(sides->settings, fact->ours[0]);
    const bool is_list = list != NULL && list->kind == CSE_YAML_SEQUENCE;
    *value = NULL;
    if (strcmp(fact->form, "but_every") == 0)
        return give_but_every(sides, fact, value);
    if (strcmp(fact->form, "layers") == 0)
        *value = give_layers(sides, fact);
    else if (is_list)
        *value = cse_map_json_of(list);
    return *value != NULL ? CSE_OK
                          : cse_fail(CSE_DATA, "the model does not say %s, which the map %s needs",
                                     fact->ours[0], sides->map->source);
}
