/* LoadCheckpointStates: of a checkpoint that is named (ckpt_path) only some states are loaded, for
 * training that begins with the weights of another one. A run that goes on from its own newest
 * checkpoint takes all of it. */
#include <stdlib.h>

#include "engine/base/arena.h"
#include "run/callbacks/state_words.h"

static cse_status setup(const cse_settings *settings, cse_callback_host *host, void **self)
{
    cse_state_words *words = cse_calloc(1, sizeof *words);
    cse_status status = cse_state_words_read(settings, "load_checkpoint_states", words);
    if (status != CSE_OK) {
        free(words);
        return status;
    }
    if (!words->all)
        cse_callback_load_only(host, words->words);
    *self = words;
    return CSE_OK;
}

static const cse_setting settings[] = {
    { .name = "load_checkpoint_states",
      .type = CSE_SETTING_ANY,
      .default_value = "all",
      .doc = "all, or one or several of model, optimizer, schedulers, grad_scaler, global_step" },
    { .name = NULL },
};

const cse_callback_descriptor cse_callback_load_checkpoint_states = {
    .name = "LoadCheckpointStates",
    .summary = "takes only some states of the checkpoint that is named",
    .settings = settings,
    .setup = setup,
    .finalize = free,
};
