/* The section `recompute`, resolved to a request for the pass. */
#include "engine/base/config/settings.h"
#include "run/session/session.h"

const cse_recompute_request *cse_session_recompute_request(cse_arena *arena,
                                                           const cse_settings *settings)
{
    const int count = settings != NULL ? cse_settings_count(settings, "scopes") : 0;
    const bool limited = settings != NULL && cse_settings_has(settings, "memory_limit_mib");
    if (count == 0 && !limited)
        return NULL;
    cse_recompute_request *request = cse_arena_alloc(arena, sizeof *request);
    const char **patterns = cse_arena_alloc(arena, (size_t)(count + 1) * sizeof *patterns);
    const char **origins = cse_arena_alloc(arena, (size_t)(count + 1) * sizeof *origins);
    for (int i = 0; i < count; i++) {
        patterns[i] = cse_arena_string(arena, cse_settings_text_at(settings, "scopes", i));
        origins[i] = cse_yaml_place_text(arena, cse_settings_place_at(settings, "scopes", i));
    }
    *request =
        (cse_recompute_request){ .patterns = patterns, .origins = origins, .pattern_count = count };
    if (limited)
        request->memory_limit_bytes = cse_settings_integer(settings, "memory_limit_mib") << 20;
    return request;
}
