/* LogOptimizerParamGroup: logs settings of the optimizer's groups of parameters, as KEY/0, KEY/1,
 * ... or KEY/NAME where a group has a name.
 *
 * What a schedule changes, the learning rate (lr/0) and the weight decay, is recorded by every run
 * with its value of each step; here it is only asked for. All other settings are constants. An
 * entry of a list is logged as KEY.INDEX/0. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "run/job/callbacks.h"

enum { MOST_KEYS = 16, MOST_ENTRIES = 8 };

typedef struct group_log {
    cse_callback_host *host;
    char keys[MOST_KEYS][64];
    int count;
} group_log;

static cse_status add_key(group_log *g, const char *key, const char *origin)
{
    double value;
    bool rate = strcmp(key, "lr") == 0 || strcmp(key, "learning_rate") == 0;
    if (!rate && !cse_callback_optimizer_setting(g->host, key, 0, &value))
        return cse_fail(CSE_CONFIG,
                        "keys (%s): the optimizer has no number \"%.60s\"; accepted: lr, and what "
                        "`csengine list optimizers NAME` shows",
                        origin, key);
    if (g->count == MOST_KEYS)
        return cse_fail(CSE_CONFIG, "keys (%s): at most %d are accepted", origin, MOST_KEYS);
    snprintf(g->keys[g->count++], sizeof g->keys[0], "%s", rate ? "lr" : key);
    return CSE_OK;
}

static cse_status setup(const cse_settings *settings, cse_callback_host *host, void **self)
{
    char text[512];
    char *rest = text;
    cse_status status = CSE_OK;
    group_log *g = cse_calloc(1, sizeof *g);
    g->host = host;
    snprintf(text, sizeof text, "%s", cse_settings_text(settings, "keys"));
    for (char *word; status == CSE_OK && (word = strsep(&rest, "[], \"'")) != NULL;)
        if (*word != '\0')
            status = add_key(g, word, cse_settings_origin(settings, "keys"));
    if (status != CSE_OK) {
        free(g);
        return status;
    }
    *self = g;
    return CSE_OK;
}

static void log_key(const group_log *g, const cse_callback_step *step, int group, const char *key)
{
    const char *of_group = cse_callback_group_name_view(g->host, group);
    char name[192];
    double value;
    snprintf(name, sizeof name, "%s/%s", key, of_group);
    if (strcmp(key, "lr") == 0 || cse_callback_value(step, name, &value))
        return; /* the run records it */
    const bool is_list = cse_callback_group_setting(g->host, group, key, 1, &value);
    for (int i = 0; i < MOST_ENTRIES && cse_callback_group_setting(g->host, group, key, i, &value);
         i++) {
        if (is_list)
            snprintf(name, sizeof name, "%s.%d/%s", key, i, of_group);
        cse_callback_log(g->host, name, step->step, value);
    }
}

static cse_status on_train_step_end(void *self, const cse_callback_step *step)
{
    const group_log *g = self;
    for (int k = 0; k < g->count; k++)
        for (int group = 0; group < cse_callback_group_count(g->host); group++)
            log_key(g, step, group, g->keys[k]);
    return CSE_OK;
}

static const cse_setting settings[] = {
    { .name = "keys",
      .type = CSE_SETTING_ANY,
      .default_value = "lr",
      .doc = "one or several settings of the optimizer: lr, weight_decay, momentum, betas, ..." },
    { .name = NULL },
};

const cse_callback_descriptor cse_callback_log_optimizer_param_group = {
    .name = "LogOptimizerParamGroup",
    .summary = "logs settings of the optimizer beside the learning rate",
    .settings = settings,
    .setup = setup,
    .finalize = free,
    .on_train_step_end = on_train_step_end,
};
