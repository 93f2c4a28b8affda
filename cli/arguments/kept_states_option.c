/* With a number of states there is no limit of their bytes. */
#include "cli/arguments/kept_states_option.h"

#include <string.h>

#include "cli/arguments/option_values.h"
#include "engine/base/directory.h"

static bool has_option(const cse_command_line *line, const char *name)
{
    for (const cse_option *o = line->command->options; o->name != NULL; o++)
        if (strcmp(o->name, name) == 0)
            return true;
    return false;
}

cse_status cse_option_kept_states(const cse_command_line *line, const char *run, cse_arena *arena,
                                  cse_kept_states *kept)
{
    static const int64_t most[] = { 0, 1000 };
    const char *given =
        has_option(line, "states_dir") ? cse_option_value(line, "states_dir") : NULL;
    int64_t count = CSE_KEPT_STATES;
    CSE_TRY(cse_option_integer(line, "kept_states", most, &count));
    if (given != NULL)
        CSE_TRY(cse_make_directories("states_dir", given));
    *kept = (cse_kept_states){
        .folder = given != NULL ? given : cse_arena_printf(arena, "%s/replayed", run),
        .most = (int)count,
        .most_bytes = cse_option_value(line, "kept_states") != NULL ? 0 : CSE_KEPT_STATES_BYTES
    };
    return CSE_OK;
}
