/* SaveCheckpointState: after every k-th checkpoint a further file with some of its states, such as
 * the weights alone. It is no checkpoint that a run goes on from by itself. Checkpoints are counted
 * from the start of the run, and from each later start of it. */
#include <limits.h>
#include <stdlib.h>

#include "engine/base/arena.h"
#include "run/callbacks/state_words.h"
#include "run/callbacks/step_pattern.h"

typedef struct save_state {
    cse_callback_host *host;
    cse_state_words words;
    const char *name;
    int64_t every, count;
} save_state;

static cse_status setup(const cse_settings *settings, cse_callback_host *host, void **self)
{
    CSE_TRY(cse_step_pattern_check(settings, "checkpoint_name", true));
    save_state *s = cse_calloc(1, sizeof *s);
    s->host = host;
    s->name = cse_settings_text(settings, "checkpoint_name");
    s->every = cse_settings_integer(settings, "k");
    cse_status status = cse_state_words_read(settings, "checkpoint_states", &s->words);
    if (status != CSE_OK) {
        free(s);
        return status;
    }
    *self = s;
    return CSE_OK;
}

static cse_status on_after_save_checkpoint(void *self, const cse_callback_checkpoint *checkpoint)
{
    save_state *s = self;
    char path[PATH_MAX];
    if (++s->count % s->every != 0)
        return CSE_OK;
    cse_step_pattern_path(cse_callback_model_dir_view(s->host), s->name, checkpoint->step, path,
                          sizeof path);
    CSE_TRY(cse_callback_save_only(s->host, path, s->words.all ? NULL : s->words.words));
    cse_callback_tell(s->host, "saved states %s", path);
    return CSE_OK;
}

static const cse_setting settings[] = {
    { .name = "k",
      .type = CSE_SETTING_INTEGER,
      .min = 1,
      .max = 2147483647,
      .doc = "checkpoints from one such file to the next" },
    { .name = "checkpoint_states",
      .type = CSE_SETTING_ANY,
      .default_value = "model",
      .doc = "all, or one or several of model, optimizer, schedulers, grad_scaler" },
    { .name = "checkpoint_name",
      .type = CSE_SETTING_TEXT,
      .default_value = "states_{step}.mdl",
      .doc = "name of the file in model_dir, with {step}" },
    { .name = NULL },
};

const cse_callback_descriptor cse_callback_save_checkpoint_state = {
    .name = "SaveCheckpointState",
    .summary = "saves some states, such as the weights alone, after every k-th checkpoint",
    .settings = settings,
    .setup = setup,
    .finalize = free,
    .on_after_save_checkpoint = on_after_save_checkpoint,
};
