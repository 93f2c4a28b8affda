/* Facts that are numbers in another unit: `times: FACT`, ours is theirs times an integer of theirs;
 * `form: inverse_root`, ours is 1 / sqrt(theirs); and what is fixed by a formula of ours,
 * =root(NAME). */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/json.h"
#include "engine/formats/weights/map.h"

static bool is_inverse_root(const cse_map_fact *fact)
{
    return fact->form != NULL && strcmp(fact->form, "inverse_root") == 0;
}

bool cse_map_is_converted(const cse_map_fact *fact)
{
    return fact->times != NULL || is_inverse_root(fact);
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

const char *cse_map_convert(const cse_map_sides *sides, const cse_map_fact *fact, const char *text,
                            bool to_ours)
{
    char *end = NULL;
    const double number = strtod(text, &end);
    if (end == text || *end != '\0')
        return NULL;
    if (is_inverse_root(fact))
        return number > 0
                   ? number_text(sides->arena, to_ours ? 1 / sqrt(number) : 1 / (number * number))
                   : NULL;
    const int64_t factor = cse_map_integer(sides->map, sides->facts, fact->times);
    if (factor < 1)
        return NULL;
    return to_ours ? cse_arena_printf(sides->arena, "%" PRId64, (int64_t)(number * (double)factor))
                   : number_text(sides->arena, number / (double)factor);
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
