/* Validations: the weights as they stand, over the data of each val_dataloader, to metrics. */
#include <glob.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/generated/ops.h"
#include "engine/base/arena.h"
#include "engine/base/config/settings.h"
#include "engine/base/text.h"
#include "engine/graph/trace/trace.h"
#include "run/job/callbacks.h"
#include "run/job/job_confusion.h"
#include "run/job/job_hosts.h"

/* With several data loaders a metric is named after its loader, as in the ModelZoo. */
static const char *metric_name(const cse_job *j, int loader, int metric)
{
    const bool trains = j->settings->mode == CSE_JOB_TRAIN;
    if (j->settings->val_count > 1)
        return cse_arena_printf(j->session->arena, "validate_%d/%s", loader,
                                j->metrics[metric].name);
    return trains ? cse_arena_printf(j->session->arena, "val_%s", j->metrics[metric].name)
                  : j->metrics[metric].name;
}

/* ---- the step ---- */

static cse_tensor *evaluation_step(cse_step *step, void *self)
{
    cse_job *j = self;
    cse_tensor *predictions = NULL;
    cse_tensor *loss = cse_model_loss(j->model, step, &predictions);
    if (j->validated.takes)
        cse_validated_samples_trace(step, predictions, cse_job_labels_of(step, predictions));
    cse_job_trace_metrics(j, step, loss, predictions);
    cse_step_closure(step, cse_job_show_step, self, loss);
    cse_step_name_closure(step, "evaluation");
    return loss;
}

/* ---- the metric of the best checkpoint ---- */

static cse_status no_such_metric(const cse_job *j, const char *const *names, const char *why)
{
    cse_text text = { 0 };
    for (int i = 0; names[i] != NULL; i++)
        cse_text_add(&text, "%s%s", i > 0 ? ", " : "", names[i]);
    cse_status status =
        cse_fail(CSE_CONFIG, "checkpoint.keep_best.metric (%s): \"%.60s\" %s; accepted: %s",
                 j->settings->keep_best_origin, j->settings->keep_best, why, text.data);
    cse_text_clear(&text);
    return status;
}

/* Whether there are labels to compare with is known when the validation has been traced: a metric
 * that needs them is missed then. */
static cse_status check_best_metric(const cse_job *j, int loader)
{
    const char **has =
        cse_arena_alloc(j->session->arena, ((size_t)j->metric_count + 1) * sizeof *has);
    bool is_missed = false;
    int count = 0;
    for (int m = 0; j->best != NULL && m < j->metric_count; m++) {
        const char *name = metric_name(j, loader, m);
        if (j->metrics[m].is_traced)
            has[count++] = name;
        else
            is_missed = is_missed || strcmp(name, j->best) == 0;
    }
    has[count] = NULL;
    return is_missed ? no_such_metric(j, has,
                                      "is a metric of integer labels, which the validation's data "
                                      "do not have")
                     : CSE_OK;
}

/* ---- one data loader ---- */

/* Logs the metrics of a loader at the training step whose weights were evaluated. */
static cse_status log_metrics(cse_job *j, int loader, const cse_callback_metric *metrics, int count)
{
    const int64_t step = cse_global_step();
    const bool diverged = cse_job_trend(j).diverged;
    for (int i = 0; i < count; i++) {
        cse_logger_set_scalar(j->loggers, metrics[i].name, step, metrics[i].value);
        cse_recorder_metric(j->recorder, metrics[i].name, step, metrics[i].value);
        if (!diverged)
            cse_retention_metric(j->retention, metrics[i].name, step, metrics[i].value);
    }
    cse_logger_set_flush(j->loggers);
    if (j->replayed_step == step)
        return CSE_OK; /* a complete run that was started again: they know it */
    return cse_callback_set_validation(
        j->callbacks,
        &(cse_callback_validation){ .step = step,
                                    .loader = loader,
                                    .loader_count = j->settings->val_count,
                                    .metric_count = count,
                                    .metrics = metrics,
                                    .diverged = diverged },
        false);
}

static cse_status take_metrics(cse_job *j, int loader)
{
    cse_job_result *result = j->result;
    cse_callback_metric metrics[CSE_JOB_MAX_METRICS];
    int count = 0;
    CSE_TRY(check_best_metric(j, loader));
    for (int m = 0; m < j->metric_count; m++) {
        double value;
        if (!j->metrics[m].is_traced)
            continue;
        CSE_TRY(cse_metric_value(j->metrics[m].metric, &value));
        if (result->metric_count == CSE_JOB_MAX_METRICS)
            return cse_fail(CSE_CONFIG, "val_dataloader: there are more than %d metrics",
                            CSE_JOB_MAX_METRICS);
        const char *name = metric_name(j, loader, m);
        CSE_TRY(cse_job_take_confusion(j, m, name));
        snprintf(result->metrics[result->metric_count].name,
                 sizeof result->metrics[result->metric_count].name, "%s",
                 j->settings->val_count > 1 ? name : j->metrics[m].name);
        result->metrics[result->metric_count++].value = value;
        metrics[count++] = (cse_callback_metric){ name, value };
    }
    return j->settings->mode == CSE_JOB_TRAIN ? log_metrics(j, loader, metrics, count) : CSE_OK;
}

static cse_status run_loader(cse_job *j, int loader)
{
    const cse_job_settings *s = j->settings;
    cse_executor_options options = { .num_steps = s->eval_steps,
                                     .num_epochs = s->eval_steps > 0 ? 0 : 1,
                                     .activation_steps =
                                         s->log_steps > 0 ? s->log_steps : CSE_DEFAULT_LOG_STEPS };
    CSE_TRY(cse_job_reset_metrics(j));
    bool counts_from_start = j->session->plan.counts_from_start;
    j->session->plan.counts_from_start = false;
    cse_eval_mode(j->model);
    j->session->network.reads_averages = s->evaluates_averages;
    cse_recorder_validating(j->recorder);
    j->loader = loader;
    if (loader == 0 && s->mode == CSE_JOB_TRAIN)
        cse_validated_samples_begin(&j->validated);
    cse_status status = cse_job_run_loop(j, &s->val_dataloader[loader], &options, evaluation_step);
    cse_validated_samples_end(&j->validated);
    j->session->network.reads_averages = false;
    cse_train_mode(j->model);
    j->session->plan.counts_from_start = counts_from_start;
    return status;
}

cse_status cse_job_validate(cse_job *j)
{
    const cse_job_settings *s = j->settings;
    cse_job_result *result = j->result;
    const cse_session_report *report = &j->session->report;
    double seconds = 0, samples = 0;
    result->metric_count = 0;
    for (int i = 0; i < s->val_count && !result->stopped; i++) {
        CSE_TRY(cse_callback_set_validation(
            j->callbacks,
            &(cse_callback_validation){
                .step = cse_global_step(), .loader = i, .loader_count = s->val_count },
            true));
        CSE_TRY(run_loader(j, i));
        seconds += report->execution.train_seconds;
        samples += (double)report->samples;
        if (s->mode == CSE_JOB_EVALUATE && seconds > 0)
            result->samples_per_second = samples / seconds;
        if (!result->stopped && cse_job_executes(j))
            CSE_TRY(take_metrics(j, i));
    }
    if (!result->stopped && cse_job_executes(j))
        cse_job_record_confusions(j);
    if (!result->stopped && cse_job_executes(j))
        cse_retention_apply(j->retention, j->recorder);
    return CSE_OK;
}

/* ---- all checkpoints ---- */

typedef struct found_checkpoint {
    int64_t step; /* by its name; -1: it has another name */
    const char *path;
} found_checkpoint;

static int by_step(const void *left, const void *right)
{
    const found_checkpoint *a = left, *b = right;
    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    return strcmp(a->path, b->path);
}

static int64_t step_of_name(const char *path)
{
    long long step;
    int end = 0;
    const char *name = strrchr(path, '/');
    name = name != NULL ? name + 1 : path;
    return sscanf(name, "checkpoint_%lld.mdl%n", &step, &end) == 1 && end > 0 && name[end] == '\0'
               ? step
               : -1;
}

/* The files of the patterns, each once, by step. */
static cse_status find_checkpoints(const cse_job *j, found_checkpoint **list, int *count)
{
    char everything[PATH_MAX];
    const char *const all = everything;
    const cse_job_settings *s = j->settings;
    const char *const *patterns = s->checkpoint_count > 0 ? s->checkpoints : &all;
    const int pattern_count = s->checkpoint_count > 0 ? s->checkpoint_count : 1;
    glob_t found = { 0 };
    snprintf(everything, sizeof everything, "%s/checkpoint_*.mdl",
             j->session->configuration.model_dir);
    *count = 0;
    for (int i = 0; i < pattern_count; i++) {
        if (glob(patterns[i], i > 0 ? GLOB_APPEND : 0, NULL, &found) == 0)
            continue;
        globfree(&found);
        return cse_fail(CSE_NO_INPUT, "validate_all: %s: there is no such checkpoint", patterns[i]);
    }
    *list = cse_arena_alloc(j->session->arena, (found.gl_pathc + 1) * sizeof **list);
    for (size_t i = 0; i < found.gl_pathc; i++)
        (*list)[(*count)++] =
            (found_checkpoint){ .step = step_of_name(found.gl_pathv[i]),
                                .path = cse_arena_string(j->session->arena, found.gl_pathv[i]) };
    globfree(&found);
    qsort(*list, (size_t)*count, sizeof **list, by_step);
    int kept = 0;
    for (int i = 0; i < *count; i++)
        if (kept == 0 || strcmp((*list)[kept - 1].path, (*list)[i].path) != 0)
            (*list)[kept++] = (*list)[i];
    *count = kept;
    return CSE_OK;
}

cse_status cse_job_validate_all(cse_job *j, cse_status (*load)(cse_job *job, const char *path))
{
    found_checkpoint *list = NULL;
    int count = 0;
    CSE_TRY(find_checkpoints(j, &list, &count));
    for (int i = 0; i < count && !j->result->stopped; i++) {
        /* A validation changes no state, so that the next checkpoint may be loaded after it. */
        j->session->network.locked = false;
        CSE_TRY(load(j, list[i].path));
        CSE_TRY(cse_job_validate(j));
        if (j->result->stopped || !cse_job_executes(j))
            continue;
        cse_job_event event = { .step = cse_global_step(),
                                .text = list[i].path,
                                .result = j->result };
        event.kind = CSE_JOB_VALIDATED;
        cse_job_emit(j, &event);
    }
    return CSE_OK;
}

/* ---- a run that goes on ---- */

const char *const *cse_job_validation_names(cse_job *j)
{
    cse_job_name_metrics(j);
    const int count = j->settings->val_count * j->metric_count;
    const char **names = cse_arena_alloc(j->session->arena, ((size_t)count + 1) * sizeof *names);
    for (int i = 0; i < count; i++)
        names[i] = metric_name(j, i / j->metric_count, i % j->metric_count);
    return names;
}

static cse_status find_best_metric(cse_job *j, const char **name)
{
    const cse_job_settings *s = j->settings;
    *name = NULL;
    if (s->keep_best == NULL)
        return CSE_OK;
    const char *const *names = cse_job_validation_names(j);
    for (int i = 0; names[i] != NULL && *name == NULL; i++)
        if (strcmp(names[i], s->keep_best) == 0 ||
            (s->val_count == 1 && strcmp(j->metrics[i % j->metric_count].name, s->keep_best) == 0))
            *name = names[i];
    if (*name != NULL)
        return CSE_OK;
    return no_such_metric(j, names,
                          s->val_count > 1 ? "is no metric of any of the validation's data loaders"
                                           : "is no metric of the validation");
}

void cse_job_begin(cse_job *j)
{
    j->first_step = cse_global_step();
    if (j->first_step > 0 || cse_recorder_goes_on(j->recorder))
        cse_logger_set_go_on(j->loggers, j->first_step);
}

/* What a callback of a library calls monitor is for itself to say. */
static const char *monitor_of(const cse_config_plugin *plugin)
{
    static const char name[] = "monitor";
    const cse_callback_descriptor *descriptor = plugin->descriptor;
    bool is_ours = false;
    for (int i = 0; cse_callbacks[i] != NULL; i++)
        is_ours = is_ours || cse_callbacks[i] == descriptor;
    return is_ours && cse_setting_table_has(descriptor->settings, name) &&
                   cse_settings_has(plugin->settings, name)
               ? cse_settings_text(plugin->settings, name)
               : NULL;
}

static cse_status check_monitors(cse_job *j)
{
    const char *const *names = cse_job_validation_names(j);
    for (int c = 0; c < j->settings->callback_count; c++) {
        const cse_config_plugin *plugin = &j->settings->callbacks[c];
        const char *monitor = monitor_of(plugin);
        bool found = monitor == NULL;
        cse_text text = { 0 };
        for (int i = 0; names[i] != NULL; i++) {
            found = found || strcmp(names[i], monitor) == 0;
            cse_text_add(&text, "%s%s", i > 0 ? ", " : "", names[i]);
        }
        cse_status status =
            found
                ? CSE_OK
                : cse_fail(CSE_CONFIG,
                           "callback %s: %s: monitor: no validation has a metric "
                           "\"%.60s\"; accepted: %s",
                           plugin->name, cse_settings_origin(plugin->settings, "monitor"), monitor,
                           text.size > 0 ? text.data : "none, there is no val_dataloader");
        cse_text_clear(&text);
        CSE_TRY(status);
    }
    return CSE_OK;
}

cse_status cse_job_prepare_validations(cse_job *j)
{
    CSE_TRY(find_best_metric(j, &j->best));
    CSE_TRY(check_monitors(j));
    if (cse_job_executes(j)) {
        j->session->plan.later_data = j->settings->val_dataloader;
        j->session->plan.later_count = j->settings->val_count;
    }
    return CSE_OK;
}

cse_status cse_job_replay(cse_job *j)
{
    cse_callback_validation validation = { .step = 0 };
    while (cse_past_validations_after(j->past, validation.step, &validation) &&
           validation.step <= j->first_step) {
        validation.diverged =
            cse_loss_had_diverged(j->host.model_dir, validation.step, j->settings->diverged_factor);
        CSE_TRY(cse_callback_set_validation(j->callbacks, &validation, false));
        j->replayed_step = validation.step;
    }
    return CSE_OK;
}

bool cse_job_owes_validation(const cse_job *j)
{
    const cse_session_plan *plan = &j->session->plan;
    const int64_t done = cse_global_step() - plan->run_start;
    double every = plan->segment;
    if (cse_job_follows(j))
        return j->environment->hosts->given->message.job.owes_validation != 0;
    if (!cse_job_life_goes_on(j->life) && !cse_callback_set_sees_validations(j->callbacks))
        return false;
    if (j->past == NULL || !plan->resumes || done <= 0 || every <= 0 ||
        j->replayed_step == cse_global_step())
        return false;
    if (every < 1)
        every *= (double)(plan->run_end - plan->run_start);
    const int64_t steps = (int64_t)ceil(every);
    return steps >= 1 && done % steps == 0;
}
