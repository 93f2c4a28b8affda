/* ModelCheckpoint: keeps the checkpoint whose validation is the best so far under a name of its
 * own.
 *
 * The file is a further hard link to the checkpoint of the step, made before the old link is
 * replaced: the name always leads to a whole checkpoint, costs no copy, and stays when the run
 * removes the checkpoint of that step (checkpoint.keep). The best value follows from the metrics
 * alone, so that a run that is resumed knows it. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/file_status.h"
#include "run/callbacks/step_pattern.h"

typedef struct model_checkpoint {
    cse_callback_host *host;
    const char *monitor, *name;
    double sign, best; /* sign -1: less is better */
} model_checkpoint;

static cse_status setup(const cse_settings *settings, cse_callback_host *host, void **self)
{
    CSE_TRY(cse_step_pattern_check(settings, "filename", false));
    model_checkpoint *m = cse_calloc(1, sizeof *m);
    *m = (model_checkpoint){
        .host = host,
        .monitor = cse_settings_text(settings, "monitor"),
        .name = cse_settings_text(settings, "filename"),
        .sign = strcmp(cse_settings_text(settings, "mode"), "max") == 0 ? 1 : -1,
        .best = -(double)INFINITY,
    };
    *self = m;
    return CSE_OK;
}

/* A step without a checkpoint (another frequency than that of validations, a full disk) is passed
 * over with a line. */
static cse_status link_best(const model_checkpoint *m, int64_t step, double value)
{
    char from[PATH_MAX], to[PATH_MAX], next[PATH_MAX + 8];
    const char *folder = cse_callback_model_dir_view(m->host);
    snprintf(from, sizeof from, "%s/checkpoint_%lld.mdl", folder, (long long)step);
    cse_step_pattern_path(folder, m->name, step, to, sizeof to);
    snprintf(next, sizeof next, "%s.new", to);
    unlink(next);
    if (link(from, next) == 0 && rename(next, to) == 0) {
        unlink(next); /* rename leaves it where both are the same file already */
        cse_callback_tell(m->host, "%s: step %lld, %s %.6g", to, (long long)step, m->monitor,
                          value);
        return CSE_OK;
    }
    const int reason = errno;
    unlink(next);
    if (reason == ENOENT || reason == ENOSPC || reason == EDQUOT) {
        cse_callback_tell(m->host, "step %lld has the best %s and no checkpoint", (long long)step,
                          m->monitor);
        return CSE_OK;
    }
    return cse_fail(cse_status_of_writing(reason), "%s cannot be made from %s: %s", to, from,
                    strerror(reason));
}

static cse_status on_validate_end(void *self, const cse_callback_validation *validation)
{
    model_checkpoint *m = self;
    for (int i = 0; i < validation->metric_count; i++) {
        const cse_callback_metric *metric = &validation->metrics[i];
        if (strcmp(metric->name, m->monitor) != 0 || validation->diverged ||
            !isfinite(metric->value) || !(m->sign * metric->value > m->best))
            continue;
        m->best = m->sign * metric->value;
        if (!validation->replayed)
            CSE_TRY(link_best(m, validation->step, metric->value));
    }
    return CSE_OK;
}

static const cse_setting settings[] = {
    { .name = "monitor",
      .type = CSE_SETTING_TEXT,
      .default_value = "val_loss",
      .doc = "metric of the validations; with several data loaders validate_N/loss" },
    { .name = "mode",
      .type = CSE_SETTING_CHOICE,
      .default_value = "min",
      .choices = "min|max",
      .doc = "whether the least or the greatest value is the best" },
    { .name = "filename",
      .type = CSE_SETTING_TEXT,
      .default_value = "best.mdl",
      .doc = "name of the file in model_dir" },
    { .name = NULL },
};

const cse_callback_descriptor cse_callback_model_checkpoint = {
    .name = "ModelCheckpoint",
    .summary = "keeps the checkpoint of the best validation under a name of its own",
    .settings = settings,
    .setup = setup,
    .finalize = free,
    .on_validate_end = on_validate_end,
};
