/* From YAML to what the numerics pass is asked for. Patterns without steps to look at, or too many
 * of them, are mistakes. */
#include "engine/precision/numerics.h"

#include <string.h>

#include "engine/config/precision_settings.h"
#include "engine/config/settings.h"

static const char subject[] = "numerics";

static const cse_setting_value *value_of(const cse_settings *settings, const char *name)
{
    int i = 0;
    while (strcmp(settings->table[i].name, name) != 0)
        i++;
    return &settings->values[i];
}

static cse_numerics *resolve(const cse_settings *settings)
{
    const cse_setting_value *tensors = value_of(settings, "tensors");
    cse_arena *arena = cse_arena_new();
    cse_numerics *numerics = cse_arena_alloc(arena, sizeof *numerics);
    const size_t count = (size_t)tensors->count + 1;
    const char **patterns = cse_arena_alloc(arena, count * sizeof *patterns);
    const char **origins = cse_arena_alloc(arena, count * sizeof *origins);
    for (int i = 0; i < tensors->count; i++) {
        patterns[i] = cse_arena_string(arena, tensors->entries[i].text);
        origins[i] = cse_arena_string(arena, tensors->entries[i].origin);
    }
    *numerics = (cse_numerics){ .arena = arena,
                                .request = { .every = cse_settings_integer(settings, "every"),
                                             .patterns = patterns,
                                             .origins = origins,
                                             .pattern_count = tensors->count } };
    return numerics;
}

cse_status cse_numerics_parse(const char *yaml, cse_numerics **numerics)
{
    cse_settings *settings = NULL;
    *numerics = NULL;
    CSE_TRY(cse_settings_parse(cse_numerics_setting_table, subject, yaml, &settings));
    const bool observes =
        cse_settings_has(settings, "every") && cse_settings_integer(settings, "every") > 0;
    cse_status status = CSE_OK;
    if (observes)
        *numerics = resolve(settings);
    else if (!cse_settings_has(settings, "every") && cse_settings_count(settings, "tensors") > 0)
        status = cse_fail(CSE_CONFIG,
                          "%s: %s: tensors says nothing without every; add every: 100 (observe "
                          "every 100th step), or every: 0 to observe nothing",
                          subject, cse_settings_origin(settings, "tensors"));
    cse_settings_destroy(&settings);
    return status;
}

void cse_numerics_destroy(cse_numerics **numerics)
{
    if (*numerics == NULL)
        return;
    cse_arena *arena = (*numerics)->arena;
    cse_arena_destroy(&arena);
    *numerics = NULL;
}
