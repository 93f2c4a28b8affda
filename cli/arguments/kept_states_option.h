/* The options --kept_states and --states_dir of commands that do steps of a run again. */
#ifndef CSE_CLI_KEPT_STATES_OPTION_H
#define CSE_CLI_KEPT_STATES_OPTION_H

#include "cli/arguments/command_line.h"
#include "engine/base/arena.h"
#include "run/travel/kept_states.h"

#define CSE_KEPT_STATES_OPTION                                                                    \
    {                                                                                             \
        "kept_states", "N", NULL,                                                                 \
            "the states after so many replays stay, the last used, and later replays begin with " \
            "them; default: 4, and 1 GiB at most; 0: none do"                                     \
    }
#define CSE_STATES_DIR_OPTION                                                    \
    {                                                                            \
        "states_dir", "DIR", NULL, "they lie there; default: MODEL_DIR/replayed" \
    }

/* Of the run in that folder; a command may have --kept_states alone. Texts are in `arena`. */
cse_status cse_option_kept_states(const cse_command_line *line, const char *run, cse_arena *arena,
                                  cse_kept_states *kept);

#endif
