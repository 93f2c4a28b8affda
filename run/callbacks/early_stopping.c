/* EarlyStopping: ends the training when a metric of the validations has stopped to improve.
 *
 * A value improves where it is better than the best so far by more than min_delta; the training
 * ends at the validation at which it has not for `patience` validations in a row. A value that is
 * not a number never improves. The state follows from the metrics alone, so that a run that is
 * resumed has it again from the validations that it is told. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "run/job/callbacks.h"

typedef struct early_stopping {
    cse_callback_host *host;
    const char *monitor;
    int64_t patience, waited;
    double sign; /* -1: less is better */
    double min_delta, best;
    bool seen; /* the metric, in the validation under way */
} early_stopping;

static cse_status setup(const cse_settings *settings, cse_callback_host *host, void **self)
{
    early_stopping *e = cse_calloc(1, sizeof *e);
    *e = (early_stopping){
        .host = host,
        .monitor = cse_settings_text(settings, "monitor"),
        .patience = cse_settings_integer(settings, "patience"),
        .sign = strcmp(cse_settings_text(settings, "mode"), "max") == 0 ? 1 : -1,
        .min_delta = cse_settings_number(settings, "min_delta"),
        .best = -(double)INFINITY,
    };
    *self = e;
    return CSE_OK;
}

/* The metric, once all data loaders of a validation were told: NULL in those before. */
static cse_status find(early_stopping *e, const cse_callback_validation *v,
                       const cse_callback_metric **found)
{
    *found = NULL;
    for (int i = 0; i < v->metric_count; i++)
        if (strcmp(v->metrics[i].name, e->monitor) == 0)
            *found = &v->metrics[i];
    e->seen = e->seen || *found != NULL;
    if (v->replayed || v->loader + 1 < v->loader_count)
        return CSE_OK;
    const bool seen = e->seen;
    e->seen = false;
    if (seen)
        return CSE_OK;
    return cse_fail(CSE_CONFIG, "monitor: a validation has no metric %s; its last one has %s%s%s",
                    e->monitor, v->metrics[0].name, v->metric_count > 1 ? ", " : "",
                    v->metric_count > 1 ? v->metrics[1].name : "");
}

static cse_status on_validate_end(void *self, const cse_callback_validation *validation)
{
    early_stopping *e = self;
    char reason[256];
    const cse_callback_metric *found = NULL;
    CSE_TRY(find(e, validation, &found));
    if (found == NULL)
        return CSE_OK;
    const double value = e->sign * found->value;
    if (value > e->best + e->min_delta) {
        e->best = value;
        e->waited = 0;
        return CSE_OK;
    }
    if (++e->waited < e->patience)
        return CSE_OK;
    snprintf(reason, sizeof reason, "%s has not improved on %.6g in %lld validations (step %lld)",
             e->monitor, e->sign * e->best, (long long)e->waited, (long long)validation->step);
    cse_callback_stop(e->host, reason);
    return CSE_OK;
}

static const cse_setting settings[] = {
    { .name = "monitor",
      .type = CSE_SETTING_TEXT,
      .default_value = "val_loss",
      .doc = "metric of the validations; with several data loaders validate_N/loss" },
    { .name = "patience",
      .type = CSE_SETTING_INTEGER,
      .default_value = "3",
      .min = 1,
      .max = 2147483647,
      .doc = "validations in a row without improvement after which training ends" },
    { .name = "min_delta",
      .type = CSE_SETTING_NUMBER,
      .default_value = "0",
      .max = 1e300,
      .doc = "a value improves where it is better by more than this" },
    { .name = "mode",
      .type = CSE_SETTING_CHOICE,
      .default_value = "min",
      .choices = "min|max",
      .doc = "whether the least or the greatest value is the best" },
    { .name = NULL },
};

const cse_callback_descriptor cse_callback_early_stopping = {
    .name = "EarlyStopping",
    .summary = "ends the training when a metric of the validations stops to improve",
    .settings = settings,
    .setup = setup,
    .finalize = free,
    .on_validate_end = on_validate_end,
};
