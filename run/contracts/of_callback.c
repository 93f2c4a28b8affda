/* The samples of a callback, in a run that this file invents; and a run that is resumed after any
 * validation ends where the uninterrupted one does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "run/contracts/contract.h"
#include "run/job/callback_set.h"
#include "run/job/callbacks.h"

enum { MOST_LINES = 512, STEPS = 10 };

/* One run of a sample. */
typedef struct sampled {
    const cse_callback_descriptor *callback;
    const cse_callback_sample *sample;
    const char *folder;
    const cse_settings *optimizer;
    cse_model *model; /* of the session that is open */
} sampled;

/* What a run came to. */
typedef struct outcome {
    cse_status status;
    int64_t stopped_at;
    int log_count, tell_count;
    char logs[MOST_LINES][128], tells[MOST_LINES][512];
} outcome;

static const cse_setting optimizer_table[] = {
    { .name = "momentum", .type = CSE_SETTING_NUMBER, .default_value = "0.9" },
    { .name = "weight_decay", .type = CSE_SETTING_NUMBER, .default_value = "0.01" },
    { .name = "nesterov", .type = CSE_SETTING_BOOL, .default_value = "false" },
    { .name = NULL },
};

static void take_log(void *self, const char *name, int64_t step, double value)
{
    outcome *o = self;
    if (o->log_count < MOST_LINES)
        snprintf(o->logs[o->log_count++], sizeof o->logs[0], "%s %lld %.6g", name, (long long)step,
                 value);
}

static void take_line(void *self, const char *line)
{
    outcome *o = self;
    if (o->tell_count < MOST_LINES)
        snprintf(o->tells[o->tell_count++], sizeof o->tells[0], "%s", line);
}

static cse_status save_nothing(void *self, const char *path, const char *const *states)
{
    (void)self;
    (void)path;
    (void)states;
    return CSE_OK;
}

static cse_status train_to(cse_callback_set *set, int64_t first, int64_t from, int64_t last)
{
    CSE_TRY(cse_callback_set_train(set, from, true));
    for (int64_t s = from + 1; s <= from + STEPS; s++)
        CSE_TRY(
            cse_callback_set_step(set, &(cse_callback_step){ .step = s,
                                                             .last_step = last,
                                                             .loop_last_step = from + STEPS,
                                                             .first_step = first,
                                                             .loss = 1.0 / (double)s,
                                                             .batch_size = 64,
                                                             .seconds = 0.1 * (double)(s - first),
                                                             .samples_per_second = 640,
                                                             .global_samples_per_second = 640 }));
    return cse_callback_set_train(set, from + STEPS, false);
}

static cse_status validate(cse_callback_set *set, int64_t step, double value, bool replayed)
{
    const cse_callback_metric metric = { "val_loss", value };
    cse_callback_validation v = { .step = step, .loader_count = 1, .replayed = replayed };
    if (!replayed)
        CSE_TRY(cse_callback_set_validation(set, &v, true));
    v.metric_count = 1;
    v.metrics = &metric;
    return cse_callback_set_validation(set, &v, false);
}

/* The hooks of a run that is resumed after `resumed` validations, which it is told. */
static cse_status run_hooks(const sampled *at, int resumed, cse_callback_host *host,
                            cse_callback_set *set)
{
    outcome *o = host->self;
    int validations = 0;
    while (validations < 8 && at->sample->val_losses[validations] != 0)
        validations++;
    const int64_t first = (int64_t)resumed * STEPS, last = (int64_t)validations * STEPS;
    CSE_TRY(cse_callback_set_fit_start(set, first));
    for (int v = 0; v < resumed; v++)
        CSE_TRY(validate(set, (int64_t)(v + 1) * STEPS, at->sample->val_losses[v], true));
    o->stopped_at = host->stops ? first : 0;
    for (int v = resumed; v < validations && !host->stops; v++) {
        CSE_TRY(train_to(set, first, (int64_t)v * STEPS, last));
        CSE_TRY(validate(set, (int64_t)(v + 1) * STEPS, at->sample->val_losses[v], false));
        o->stopped_at = host->stops ? (int64_t)(v + 1) * STEPS : 0;
    }
    return cse_callback_set_fit_end(set, last, CSE_OK);
}

static void run_sample(const sampled *at, int resumed, outcome *o)
{
    cse_settings *settings = NULL;
    cse_callback_set *set = NULL;
    *o = (outcome){ .stopped_at = 0 };
    cse_callback_host host = { .self = o,
                               .log = take_log,
                               .tell = take_line,
                               .save_only = save_nothing,
                               .model_dir = at->folder,
                               .optimizer = at->optimizer,
                               .model = at->model };
    o->status = cse_settings_parse(at->callback->settings, at->callback->name, at->sample->settings,
                                   &settings);
    const cse_config_plugin plugin = { .name = at->callback->name,
                                       .descriptor = at->callback,
                                       .settings = settings };
    if (o->status == CSE_OK)
        o->status = cse_callback_set_new(&plugin, 1, &host, &set);
    if (o->status == CSE_OK)
        o->status = run_hooks(at, resumed, &host, set);
    cse_callback_set_destroy(&set);
    cse_settings_destroy(&settings);
}

static cse_status check_lines(const sampled *at, const outcome *o)
{
    bool told = at->sample->tells == NULL;
    for (int i = 0; at->sample->logs[i] != NULL; i++)
        if (i >= o->log_count || strcmp(o->logs[i], at->sample->logs[i]) != 0)
            return cse_fail(CSE_DATA, "log %d is \"%s\", expected \"%s\" (%s)", i,
                            i < o->log_count ? o->logs[i] : "", at->sample->logs[i],
                            at->sample->source);
    for (int i = 0; i < o->tell_count && !told; i++)
        told = strstr(o->tells[i], at->sample->tells) != NULL;
    return told ? CSE_OK : cse_fail(CSE_DATA, "nothing told holds \"%s\"", at->sample->tells);
}

static cse_status check_end(const sampled *at, int resumed, const outcome *o)
{
    return o->status != CSE_OK || o->stopped_at == at->sample->stops_at
               ? o->status
               : cse_fail(CSE_DATA,
                          "after %d validations of an earlier start the run ends at step %lld, "
                          "expected %lld (0: at its own end)",
                          resumed, (long long)o->stopped_at, (long long)at->sample->stops_at);
}

static cse_status meet(const sampled *at, outcome *o)
{
    run_sample(at, 0, o);
    if (at->sample->refusal != NULL)
        return cse_contract_refused(o->status, at->sample->refusal);
    if (at->sample->source == NULL)
        return cse_fail(CSE_DATA, "the sample does not say what computed its values (source)");
    CSE_TRY(check_end(at, 0, o));
    return check_lines(at, o);
}

static cse_status resume(const sampled *at, outcome *o)
{
    for (int resumed = 0; resumed < 8 && at->sample->val_losses[resumed] != 0; resumed++) {
        if (at->sample->stops_at > 0 && (int64_t)resumed * STEPS > at->sample->stops_at)
            break;
        run_sample(at, resumed, o);
        CSE_TRY(check_end(at, resumed, o));
    }
    return CSE_OK;
}

/* In a session of its own. */
static cse_status in_session(const cse_contract *contract, const cse_callback_descriptor *d,
                             const cse_callback_sample *sample,
                             cse_status (*check)(const sampled *at, outcome *o))
{
    cse_settings *optimizer = NULL;
    outcome *o = cse_malloc(sizeof *o);
    sampled at = { .callback = d, .sample = sample, .folder = contract->folder };
    cse_status status = cse_settings_parse(optimizer_table, "optimizer", "{}", &optimizer);
    if (status == CSE_OK)
        status = cse_configure(&(cse_configuration){ .model_dir = contract->folder });
    if (status == CSE_OK) {
        at.optimizer = optimizer;
        at.model = cse_compile(
            cse_model_new("fc_mnist", "{input_size: 16, hidden_sizes: [32], num_classes: 4}"));
        status = cse_session_status();
    }
    if (status == CSE_OK)
        status = check(&at, o);
    cse_finish();
    cse_settings_destroy(&optimizer);
    free(o);
    return status;
}

static cse_status check_descriptor(const cse_callback_descriptor *d,
                                   const cse_callback_sample *samples)
{
    bool values = false;
    if (d->summary == NULL || d->summary[0] == '\0')
        return cse_fail(CSE_DATA, "it has no summary");
    CSE_TRY(cse_contract_settings(d->settings, d->name));
    for (const cse_callback_sample *s = samples; s != NULL && s->settings != NULL; s++)
        values = values || s->refusal == NULL;
    return values ? CSE_OK : cse_fail(CSE_DATA, "it has no sample without a refusal");
}

void cse_contract_of_callback(cse_contract *contract, const void *descriptor)
{
    const cse_callback_descriptor *d = descriptor;
    const cse_callback_sample *samples = cse_contract_samples(contract, d, d->samples);
    cse_contract_tell(contract, check_descriptor(d, samples), "is complete");
    for (const cse_callback_sample *s = samples; s != NULL && s->settings != NULL; s++) {
        cse_contract_tell(contract, in_session(contract, d, s, meet),
                          s->refusal != NULL ? "refuses %s" : "does in a run what is stated for %s",
                          s->settings);
        if (s->refusal == NULL)
            cse_contract_tell(contract, in_session(contract, d, s, resume),
                              "ends a resumed run at the same step with %s", s->settings);
    }
}
