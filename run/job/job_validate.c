/* Validations: the weights as they stand, over the data of each val_dataloader, to metrics. */
#include <glob.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/generated/ops.h"
#include "engine/base/arena.h"
#include "engine/base/text.h"
#include "engine/trace/trace.h"
#include "run/job/job_parts.h"

static const char *const metric_names[] = { "loss", "accuracy" };
enum { METRICS = sizeof metric_names / sizeof metric_names[0] };

/* With several data loaders a metric is named after its loader, as in the ModelZoo. */
static const char *metric_name(const cse_job *j, int loader, int metric)
{
    const bool trains = j->settings->mode == CSE_JOB_TRAIN;
    if (j->settings->val_count > 1)
        return cse_arena_printf(j->session->arena, "validate_%d/%s", loader, metric_names[metric]);
    return trains ? cse_arena_printf(j->session->arena, "val_%s", metric_names[metric])
                  : metric_names[metric];
}

/* ---- the step ---- */

cse_status cse_job_make_metrics(cse_job *j)
{
    j->loss = cse_metric_new("mean", "loss");
    j->accuracy = cse_metric_new("accuracy", "accuracy");
    return cse_session_status();
}

/* The integer labels that have one row of `predictions` each; NULL when there are none. */
static cse_tensor *labels_of(const cse_step *step, const cse_tensor *predictions)
{
    for (int i = 0; i < step->graph->input_count; i++) {
        cse_node *input = step->graph->inputs[i].node;
        if (strcmp(step->graph->inputs[i].name, "labels") == 0 && input->dtype == CSE_INT32 &&
            input->shape.rank == 1 && cse_tensor_shape(predictions).rank == 2)
            return input;
    }
    return NULL;
}

static cse_tensor *evaluation_step(cse_step *step, void *self)
{
    cse_job *j = self;
    cse_tensor *predictions = NULL;
    cse_tensor *loss = cse_model_loss(j->model, step, &predictions);
    cse_tensor *labels = labels_of(step, predictions);
    cse_metric_update(j->loss, loss);
    j->has_accuracy = labels != NULL;
    if (labels != NULL)
        cse_metric_update(j->accuracy, labels, cse_argmax(predictions, -1));
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
static cse_status check_best_metric(const cse_job *j, int loader, int taken)
{
    const char *has[METRICS + 1] = { NULL };
    for (int m = 0; m < taken; m++)
        has[m] = metric_name(j, loader, m);
    for (int m = taken; j->best != NULL && m < METRICS; m++)
        if (strcmp(metric_name(j, loader, m), j->best) == 0)
            return no_such_metric(j, has,
                                  "is a metric of integer labels, which the validation's data do "
                                  "not have");
    return CSE_OK;
}

/* ---- one data loader ---- */

/* Logs the metrics of a loader at the training step whose weights were evaluated. */
static cse_status log_metrics(cse_job *j, int loader, int first)
{
    const cse_job_result *result = j->result;
    const int64_t step = cse_global_step();
    cse_callback_metric metrics[METRICS];
    int count = 0;
    if (j->settings->mode != CSE_JOB_TRAIN)
        return CSE_OK;
    for (int i = first; i < result->metric_count; i++, count++) {
        const char *name = metric_name(j, loader, count);
        const double value = result->metrics[i].value;
        metrics[count] = (cse_callback_metric){ name, value };
        cse_logger_set_scalar(j->loggers, name, step, value);
        cse_recorder_metric(j->recorder, name, step, value);
        cse_retention_metric(j->retention, name, step, value);
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
                                    .metrics = metrics },
        false);
}

static cse_status take_metrics(cse_job *j, int loader)
{
    cse_job_result *result = j->result;
    cse_metric *const metrics[METRICS] = { j->loss, j->accuracy };
    const int first = result->metric_count, count = j->has_accuracy ? METRICS : 1;
    CSE_TRY(check_best_metric(j, loader, count));
    for (int m = 0; m < count; m++) {
        double value;
        CSE_TRY(cse_metric_value(metrics[m], &value));
        if (result->metric_count == CSE_JOB_MAX_METRICS)
            return cse_fail(CSE_CONFIG, "val_dataloader: there are more than %d metrics",
                            CSE_JOB_MAX_METRICS);
        snprintf(result->metrics[result->metric_count].name,
                 sizeof result->metrics[result->metric_count].name, "%s%s",
                 j->settings->val_count > 1 ? "" : metric_names[m],
                 j->settings->val_count > 1 ? metric_name(j, loader, m) : "");
        result->metrics[result->metric_count++].value = value;
    }
    return log_metrics(j, loader, first);
}

static cse_status run_loader(cse_job *j, int loader)
{
    const cse_job_settings *s = j->settings;
    cse_executor_options options = { .num_steps = s->eval_steps,
                                     .num_epochs = s->eval_steps > 0 ? 0 : 1,
                                     .activation_steps =
                                         s->log_steps > 0 ? s->log_steps : CSE_DEFAULT_LOG_STEPS };
    CSE_TRY(cse_metric_reset(j->loss));
    CSE_TRY(cse_metric_reset(j->accuracy));
    bool counts_from_start = j->session->hooks.counts_from_start;
    j->session->hooks.counts_from_start = false;
    cse_eval_mode(j->model);
    cse_recorder_validating(j->recorder);
    j->evaluating = true;
    j->loader = loader;
    cse_status status = cse_job_run_loop(j, &s->val_dataloader[loader], &options, evaluation_step);
    j->evaluating = false;
    cse_train_mode(j->model);
    j->session->hooks.counts_from_start = counts_from_start;
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
        samples += (double)report->last_step * (double)report->batch_size;
        if (s->mode == CSE_JOB_EVALUATE && seconds > 0)
            result->samples_per_second = samples / seconds;
        if (!result->stopped && cse_job_executes(j))
            CSE_TRY(take_metrics(j, i));
    }
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
        j->session->locked = false;
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
    const int count = j->settings->val_count * METRICS;
    const char **names = cse_arena_alloc(j->session->arena, ((size_t)count + 1) * sizeof *names);
    for (int i = 0; i < count; i++)
        names[i] = metric_name(j, i / METRICS, i % METRICS);
    return names;
}

cse_status cse_job_best_metric(cse_job *j, const char **name)
{
    const cse_job_settings *s = j->settings;
    *name = NULL;
    if (s->keep_best == NULL)
        return CSE_OK;
    const char *const *names = cse_job_validation_names(j);
    for (int i = 0; names[i] != NULL && *name == NULL; i++)
        if (strcmp(names[i], s->keep_best) == 0 ||
            (s->val_count == 1 && strcmp(metric_names[i % METRICS], s->keep_best) == 0))
            *name = names[i];
    if (*name != NULL)
        return CSE_OK;
    return no_such_metric(j, names,
                          s->val_count > 1 ? "is no metric of any of the validation's data loaders"
                                           : "is no metric of the validation");
}

cse_status cse_job_replay(cse_job *j)
{
    cse_callback_validation validation = { .step = 0 };
    while (cse_past_validations_after(j->past, validation.step, &validation) &&
           validation.step <= j->first_step) {
        CSE_TRY(cse_callback_set_validation(j->callbacks, &validation, false));
        j->replayed_step = validation.step;
    }
    return CSE_OK;
}

bool cse_job_owes_validation(const cse_job *j)
{
    const cse_session_hooks *hooks = &j->session->hooks;
    const int64_t done = cse_global_step() - hooks->run_start;
    double every = hooks->segment;
    if (j->past == NULL || !hooks->resumes || done <= 0 || every <= 0 ||
        j->replayed_step == cse_global_step())
        return false;
    if (every < 1)
        every *= (double)(j->previous.last_step - hooks->run_start);
    const int64_t steps = (int64_t)ceil(every);
    return steps >= 1 && done % steps == 0;
}
