/* Facts that are numbers in another unit. `times: FACT`: ours is theirs times an integer of theirs.
 * `form: inverse_root`: ours is 1 / sqrt(theirs). The factor of a rotation's values, which
 * llama.cpp multiplies by that of YaRN (`form: yarn_attention`), or does not make of lengths by
 * itself (`form: longrope_attention`). And what a formula fixes: =root(NAME) of our settings, or
 * =inverse_root(NAME) of their facts. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/json.h"
#include "engine/formats/weights/map_values.h"

bool cse_map_is_converted(const cse_map_fact *fact)
{
    return fact->times != NULL || cse_map_has_form(fact, "inverse_root") ||
           cse_map_has_form(fact, "yarn_attention") || cse_map_has_form(fact, "longrope_attention");
}

/* As an integer where it is one, else with all of its digits. */
static const char *number_text(cse_arena *arena, double number)
{
    cse_text text = { 0 };
    if (fabs(number - round(number)) <= 1e-9 * fabs(number) && fabs(number) < 1e15)
        return cse_arena_printf(arena, "%" PRId64, (int64_t)llround(number));
    cse_json_add_number(&text, number);
    const char *result = cse_arena_string(arena, text.data);
    cse_text_clear(&text);
    return result;
}

static double setting_of(const cse_yaml_node *settings, const char *name, double otherwise)
{
    double number = 0;
    const char *text = cse_map_our_setting(settings, name);
    return text != NULL && cse_map_is_number(text, &number) ? number : otherwise;
}

/* What YaRN multiplies cosines and sines by, of its own accord. */
static double yarn_factor(const cse_yaml_node *settings)
{
    const double factor = setting_of(settings, "pos_scaling_factor", 1);
    return factor > 1 ? 1 + 0.1 * log(factor) : 1;
}

/* The same of longrope. */
static double longrope_factor(const cse_yaml_node *settings)
{
    const double length = setting_of(settings, "max_position_embeddings", 1024);
    const double original =
        setting_of(settings, "pos_scaling_extra_args.original_max_position_embeddings", length);
    const double factor =
        setting_of(settings, "pos_scaling_extra_args.factor", original > 0 ? length / original : 1);
    return factor > 1 && original > 1 ? sqrt(1 + log(factor) / log(original)) : 1;
}

const char *cse_map_convert(const cse_map_sides *sides, const cse_map_fact *fact, const char *text,
                            bool to_ours)
{
    double number = 0;
    if (!to_ours && cse_map_has_form(fact, "longrope_attention") && strcmp(text, "null") == 0)
        return number_text(sides->arena, longrope_factor(sides->settings));
    if (!cse_map_is_number(text, &number))
        return NULL;
    if (cse_map_has_form(fact, "longrope_attention"))
        return number_text(sides->arena, number);
    if (cse_map_has_form(fact, "yarn_attention")) {
        const double own = yarn_factor(sides->settings);
        return number_text(sides->arena, to_ours ? number * own : number / own);
    }
    if (cse_map_has_form(fact, "inverse_root"))
        return number > 0
                   ? number_text(sides->arena, to_ours ? 1 / sqrt(number) : 1 / (number * number))
                   : NULL;
    const int64_t factor = cse_map_integer(sides->map, sides->facts, fact->times);
    if (factor < 1)
        return NULL;
    return to_ours ? cse_arena_printf(sides->arena, "%" PRId64, (int64_t)(number * (double)factor))
                   : number_text(sides->arena, number / (double)factor);
}

static const char inverse_root[] = "=inverse_root(";

bool cse_map_is_inverse_root(const cse_yaml_node *node)
{
    return cse_map_is_formula(node) &&
           strncmp(node->text, inverse_root, sizeof inverse_root - 1) == 0;
}

const char *cse_map_inverse_root_of(const cse_map *map, cse_arena *arena, const json_t *facts,
                                    const char *formula)
{
    const char *name = formula + sizeof inverse_root - 1;
    const int64_t number = cse_map_quotient(
        map, facts, cse_arena_printf(arena, "%.*s", (int)strcspn(name, ")"), name), 0);
    return number_text(arena, number > 0 ? 1 / sqrt((double)number) : 0);
}

const char *cse_map_fixed_text(cse_arena *arena, const cse_map_fact *fact,
                               const cse_yaml_node *settings)
{
    static const char root[] = "=root(";
    const cse_yaml_node *fixed = fact->fixed;
    if (fixed == NULL || fixed->kind != CSE_YAML_SCALAR ||
        strncmp(fixed->text, root, sizeof root - 1) != 0)
        return NULL;
    const char *name = fixed->text + sizeof root - 1;
    const cse_yaml_node *of =
        cse_yaml_find(settings, cse_arena_printf(arena, "%.*s", (int)strcspn(name, ")"), name));
    return of != NULL && of->kind == CSE_YAML_SCALAR
               ? number_text(arena, sqrt(strtod(of->text, NULL)))
               : NULL;
}

void cse_map_tell(const cse_map *map, const json_t *facts, const cse_weights *ours,
                  cse_text *notice)
{
    for (int i = 0; map->leaves_out != NULL && i < ours->count; i++)
        if (cse_map_is_among(map->leaves_out, ours->list[i].name))
            cse_text_add(notice, "%s is left out: the other program has no place for it\n",
                         ours->list[i].name);
    for (int i = 0; i < map->fact_count; i++) {
        const cse_map_fact *fact = &map->facts[i];
        const json_t *value = fact->told != NULL ? json_object_get(facts, fact->theirs[0]) : NULL;
        if (json_is_integer(value) && json_integer_value(value) > 0)
            cse_text_add(notice, "%s is %" JSON_INTEGER_FORMAT ": %s\n", fact->theirs[0],
                         json_integer_value(value), fact->told);
    }
}
