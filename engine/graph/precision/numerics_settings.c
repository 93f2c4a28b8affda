/* Resolves settings to a request for the numerics pass. Patterns without `every` are an error. */
#include "engine/graph/precision/numerics.h"

#include <inttypes.h>

#include "engine/base/config/precision_settings.h"
#include "engine/base/config/settings.h"
#include "engine/base/text.h"

static const char subject[] = "numerics";
static const char context[] = "numerics: ";

/* "3,17"; NULL: all. */
static const char *list_microbatches(const cse_settings *settings, cse_arena *arena)
{
    cse_text list = { 0 };
    for (int i = 0; i < cse_settings_count(settings, "microbatches"); i++)
        cse_text_add(&list, "%s%" PRId64, i > 0 ? "," : "",
                     cse_settings_integer_at(settings, "microbatches", i));
    const char *text = list.size > 0 ? cse_arena_string(arena, list.data) : NULL;
    cse_text_clear(&list);
    return text;
}

static cse_numerics *resolve(const cse_settings *settings)
{
    const int pattern_count = cse_settings_count(settings, "tensors");
    cse_arena *arena = cse_arena_new();
    cse_numerics *numerics = cse_arena_alloc(arena, sizeof *numerics);
    const size_t count = (size_t)pattern_count + 1;
    const char **patterns = cse_arena_alloc(arena, count * sizeof *patterns);
    const char **origins = cse_arena_alloc(arena, count * sizeof *origins);
    for (int i = 0; i < pattern_count; i++) {
        patterns[i] = cse_arena_string(arena, cse_settings_text_at(settings, "tensors", i));
        origins[i] = cse_yaml_place_text(arena, cse_settings_place_at(settings, "tensors", i));
    }
    const char *values = cse_settings_has(settings, "values")
                             ? cse_arena_string(arena, cse_settings_text(settings, "values"))
                             : NULL;
    *numerics = (cse_numerics){ .arena = arena,
                                .request = { .every = cse_settings_integer(settings, "every"),
                                             .patterns = patterns,
                                             .origins = origins,
                                             .pattern_count = pattern_count,
                                             .values = values,
                                             .microbatches = list_microbatches(settings, arena) } };
    return numerics;
}

static cse_status without_every(const cse_settings *settings, const char *key)
{
    return cse_fail_at(CSE_ERROR_AT(context, cse_settings_place(settings, key)),
                       "%s has no effect without every; add every: 100 (statistics on every 100th "
                       "step), or every: 0 for none",
                       key);
}

cse_status cse_numerics_new(const cse_settings *settings, cse_numerics **numerics)
{
    bool has_every = cse_settings_has(settings, "every");
    *numerics = NULL;
    if (cse_settings_count(settings, "microbatches") > 0 && !cse_settings_has(settings, "values"))
        return cse_fail_at(CSE_ERROR_AT(context, cse_settings_place(settings, "microbatches")),
                           "microbatches has no effect without values, the names of the tensors "
                           "whose values are kept");
    if (has_every && cse_settings_integer(settings, "every") > 0)
        *numerics = resolve(settings);
    else if (!has_every && cse_settings_count(settings, "tensors") > 0)
        return without_every(settings, "tensors");
    else if (!has_every && cse_settings_has(settings, "values"))
        return without_every(settings, "values");
    return CSE_OK;
}

cse_status cse_numerics_parse(const char *yaml, cse_numerics **numerics)
{
    cse_settings *settings = NULL;
    *numerics = NULL;
    CSE_TRY(cse_settings_parse(cse_numerics_setting_table, subject, yaml, &settings));
    cse_status status = cse_numerics_new(settings, numerics);
    cse_settings_destroy(&settings);
    return status;
}

int64_t cse_numerics_every(const cse_numerics *numerics)
{
    return numerics != NULL ? numerics->request.every : 0;
}

void cse_numerics_destroy(cse_numerics **numerics)
{
    if (*numerics == NULL)
        return;
    cse_arena *arena = (*numerics)->arena;
    cse_arena_destroy(&arena);
    *numerics = NULL;
}
