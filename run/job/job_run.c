/* Runs a whole job by calls of the public session API, as a user's program would make them. */
#include "run/job/job_parts.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/config/settings.h"
#include "engine/base/directory.h"
#include "engine/base/error.h"
#include "engine/base/log.h"
#include "engine/base/text.h"
#include "engine/formats/weights/open.h"
#include "engine/nn/adapters/adapter.h"
#include "engine/nn/class_loss.h"
#include "engine/nn/configured.h"
#include "engine/nn/plugin_find.h"
#include "engine/nn/update/grad_scaler.h"
#include "engine/nn/update/parameter_groups.h"
#include "engine/nn/update/selective_gradients.h"
#include "engine/nn/update/sparsity.h"
#include "engine/nn/update/weight_average.h"
#include "run/job/callbacks.h"
#include "run/job/found_checkpoints.h"
#include "run/job/hints.h"
#include "run/job/host_change.h"
#include "run/job/job_digest.h"
#include "run/job/job_folder.h"
#include "run/job/job_hosts.h"
#include "run/job/job_loss.h"
#include "run/saving/keep_packed.h"
#include "run/saving/room_wait.h"
#include "store/damage.h"

#define LACK_INTERVAL_NS INT64_C(60000000000)
typedef cse_job job;

/* ---- steps ---- */

static cse_tensor *training_step(cse_step *step, void *self)
{
    const job *j = self;
    cse_tensor *loss = cse_model_loss(j->model, step, NULL);
    cse_class_loss_check_used(j->settings->model->name);
    cse_optimizer_step(step, loss, j->optimizer, NULL, NULL);
    cse_callback_set_trace(j->callbacks, step);
    cse_step_closure(step, cse_job_show_step, self, loss);
    cse_step_name_closure(step, "progress");
    cse_checkpoint_closure(step, cse_job_save_step, self);
    cse_step_name_closure(step, "checkpoint");
    return loss;
}

/* ---- hooks ---- */

static int stop_requested(void *self)
{
    const job *j = self;
    cse_job_guard_folder(self);
    const int asked = j->environment->stop_requested != NULL
                          ? j->environment->stop_requested(j->environment->self)
                          : 0;
    if (asked == 0 && cse_host_change_is_asked(j->environment->host_change))
        return 3;
    return asked == 0 && cse_job_stops_here(j) ? 1 : asked;
}

static bool is_below(const cse_yaml_unread *setting, const char *section)
{
    return strncmp(setting->path, section, strlen(section)) == 0;
}

/* Whether a setting is of a part that this job does not have, as a file for several uses has. */
static bool is_of_another_job(const job *j, const cse_yaml_unread *setting)
{
    const bool of_validation = is_below(setting, "trainer.fit.val_dataloader");
    if (of_validation || is_below(setting, "trainer.validate"))
        return j->loaders_planned < j->settings->val_count ||
               (!of_validation && j->settings->mode != CSE_JOB_EVALUATE);
    if (j->settings->mode == CSE_JOB_EVALUATE)
        return setting->place.line > 0; /* given on the command line: told */
    return !cse_job_executes(j) && (is_below(setting, "trainer.init.loggers") ||
                                    is_below(setting, "trainer.init.callbacks"));
}

/* Tells each setting that has no effect, once. Called when the step is planned: by then every
 * setting that has an effect was read. */
static void tell_unread(job *j, bool training)
{
    cse_config_effect effect;
    cse_yaml_unread *unread = NULL;
    cse_job_result *result = j->result;
    const cse_config *config = j->settings->config;
    if (result->unread == NULL) /* room for every value */
        cse_yaml_list_values(cse_config_arena_view(config), cse_config_root_view(config),
                             &result->unread);
    if (!training && j->loader + 1 > j->loaders_planned)
        j->loaders_planned = j->loader + 1;
    int count = cse_config_unread(config, &unread), told = result->unread_count;
    for (int i = 0; i < count; i++) {
        bool known = is_of_another_job(j, &unread[i]);
        for (int k = 0; k < told && !known; k++)
            known = strcmp(result->unread[k].path, unread[i].path) == 0;
        if (known || !cse_config_explain_unread(config, &unread[i], &effect))
            continue;
        if (!j->settings->session.validate_only && cse_hints_take(&j->hints, &effect))
            continue;
        result->unread[result->unread_count++] = unread[i];
        cse_job_warn(j, &effect.warning);
    }
    cse_hints_tell(&j->hints);
}

static cse_status change_hosts(void *self, const char *hosts)
{
    const job *j = self;
    return cse_host_change_ask(j->environment->host_change, hosts);
}

static void tell_complete(job *j, cse_job_event *event)
{
    cse_text text = { 0 };
    cse_tell_complete(&j->session->report, j->session->configuration.model_dir, &text);
    j->result->complete = true;
    event->kind = CSE_JOB_COMPLETE;
    event->text = text.data;
    cse_job_emit(j, event);
    cse_recorder_line(j->recorder, text.data);
    cse_text_clear(&text);
}

static void warn(void *self, const cse_error *warning)
{
    cse_job_warn(self, warning);
}

static void on_planned(void *self, const cse_step *step)
{
    job *j = self;
    const cse_session_report *report = &j->session->report;
    cse_job_event event = { .step = report->first_step, .last_step = report->asked_last_step };
    if (j->settings->config != NULL)
        tell_unread(j, step->training);
    if (!cse_job_executes(j))
        return;
    const unsigned actions = cse_job_live(&j->life, !step->training ? CSE_ON_VALIDATION_PLANNED
                                                    : report->first_step < report->run_last_step
                                                        ? CSE_ON_STEPS_PLANNED
                                                        : CSE_ON_NOTHING_PLANNED);
    if (actions & CSE_DO_TELL_FORMAT)
        cse_job_emit_text(j, CSE_JOB_LOG, cse_global_step(), j->session->opened.computes);
    if (actions & (CSE_DO_TELL_END | CSE_DO_TELL_CHANGES | CSE_DO_KEEP_END))
        cse_job_keep_target(j, actions);
    if (actions & CSE_DO_ACCEPT && j->recorder != NULL) {
        event.kind = CSE_JOB_ACCEPTED;
        cse_job_emit(j, &event);
    }
    if (actions & CSE_DO_TELL_COMPLETE && cse_takeover_count(j->environment->takeover) == 0)
        tell_complete(j, &event);
}

/* ---- the job's objects ---- */

/* The file whose weights load() will take; false: there is none. */
static bool weights_path(const job *j, char path[PATH_MAX])
{
    const cse_job_settings *s = j->settings;
    const bool follows = cse_job_follows(j);
    const char *given = follows ? j->environment->hosts->given->file
                                : cse_takeover_checkpoint(j->environment->takeover);
    if (given != NULL && !follows && access(given, F_OK) != 0)
        given = NULL; /* which load() tells */
    if (given == NULL && !follows)
        given = s->checkpoint_path;
    if (given == NULL && !follows && s->autoload_last_checkpoint &&
        cse_checkpoint_latest(j->session->configuration.model_dir, path, PATH_MAX) == CSE_OK)
        return true;
    if (given == NULL)
        given = s->weights;
    if (given != NULL)
        snprintf(path, PATH_MAX, "%s", given);
    return given != NULL;
}

/* With the weights that load() will take: what lies packed in their file can stay so. */
static cse_status make_model(job *j)
{
    char path[PATH_MAX];
    const cse_job_settings *s = j->settings;
    /* Each of the checkpoints that are validated could be packed otherwise. */
    const bool found = !s->validates_all && weights_path(j, path);
    const cse_keep_packed keep = { .path = found ? path : NULL,
                                   .model = s->model->name,
                                   .wanted = s->weights_in_memory,
                                   .adapters = &s->added,
                                   .all = s->mode == CSE_JOB_EVALUATE,
                                   .goes_on =
                                       found && s->added.count == 0 &&
                                       !cse_weights_are_foreign(path) &&
                                       (s->weights == NULL || strcmp(path, s->weights) != 0) };
    cse_text text = { 0 };
    cse_session_keep_packed(j->session, &keep);
    j->model = cse_compile(cse_configured_model(s->model));
    CSE_TRY(cse_session_status());
    CSE_TRY(cse_session_check_packed(j->session, &keep));
    cse_session_tell_packed(j->session, &text);
    if (text.size > 0)
        cse_job_emit_text(j, CSE_JOB_LOG, cse_global_step(), text.data);
    cse_text_clear(&text);
    return cse_job_make_objective(j);
}

/* Records the constant learning rates of parameter groups without a schedule. */
static void record_rates(job *j)
{
    const cse_optimizer *optimizer = j->optimizer;
    double rate;
    for (int g = 0; g < optimizer->group_count; g++) {
        char name[128];
        snprintf(name, sizeof name, "lr/%s", optimizer->groups[g].name);
        if (!cse_group_constant_rate(optimizer, &optimizer->groups[g], &rate))
            continue;
        cse_recorder_constant(j->recorder, name, rate);
        if (g == 0)
            j->watch.rate = rate;
    }
}

/* A callback that changes the step: of every job that traces one, whether or not it executes. */
static cse_status select_gradients(const job *j)
{
    const cse_job_settings *s = j->settings;
    const void *selective = cse_registry_find(cse_callbacks, "SelectiveGrad");
    for (int i = 0; i < s->callback_count; i++)
        if (s->callbacks[i].descriptor == selective)
            CSE_TRY(cse_configured_selection(
                j->optimizer, cse_settings_node(s->callbacks[i].settings, "selective_grads")));
    return CSE_OK;
}

static cse_status make_training(job *j)
{
    const cse_job_settings *s = j->settings;
    j->optimizer = cse_configured_optimizer(s->optimizer, j->model);
    if (j->optimizer != NULL)
        CSE_TRY(select_gradients(j));
    if (j->optimizer != NULL && s->averages)
        CSE_TRY(cse_average_weights(j->optimizer, s->average_decay));
    if (s->schedulers != NULL)
        cse_configured_schedule(j->optimizer, s->schedulers);
    if (s->sparsity != NULL && j->optimizer != NULL)
        cse_configured_sparsity(j->optimizer, s->sparsity);
    if (j->optimizer != NULL)
        record_rates(j);
    return cse_network_settle_precision(&j->session->network);
}

static void warn_of_divergence(const job *j, const char *path)
{
    static const cse_previous_run unknown = { .steps_done = 0 };
    cse_text text = { 0 };
    cse_tell_divergence(j->session, path,
                        j->settings->checkpoint_path == NULL ? &j->previous : &unknown, &text);
    if (text.data != NULL)
        cse_job_warn(j, &(cse_error){ .status = CSE_DATA, .message = text.data });
    cse_text_clear(&text);
}

/* A run from a checkpoint that was named writes its own over those of later steps. */
static void warn_of_overwriting(const job *j)
{
    cse_text text = { 0 };
    if (!j->settings->no_checkpoints)
        cse_tell_overwriting(j->session->configuration.model_dir, cse_global_step(), &text);
    if (text.data != NULL)
        cse_job_warn(j, &(cse_error){ .status = CSE_DATA, .message = text.data });
    cse_text_clear(&text);
}

/* What a run is told of the weights that it goes on from. */
static void warn_of_start(const job *j, const char *path)
{
    if (j->settings->mode != CSE_JOB_TRAIN || !cse_job_executes(j))
        return;
    warn_of_divergence(j, path);
    if (j->settings->checkpoint_path != NULL)
        warn_of_overwriting(j);
}

static cse_status load_from(job *j, const char *path)
{
    char line[PATH_MAX + 64];
    if (cse_weights_are_foreign(path) || j->settings->added.count > 0)
        return cse_job_load_foreign(j, path);
    const cse_callback_checkpoint told = { .path = path };
    CSE_TRY(cse_callback_set_checkpoint(j->callbacks, CSE_BEFORE_LOADING, &told));
    const bool is_named =
        j->settings->checkpoint_path != NULL && strcmp(path, j->settings->checkpoint_path) == 0;
    j->session->plan.load_only = is_named ? j->host.load_only : NULL;
    CSE_TRY(cse_load(path));
    j->saved_step = cse_global_step();
    j->loaded_path = cse_arena_string(j->session->arena, path);
    snprintf(j->result->checkpoint_path, sizeof j->result->checkpoint_path, "%s", path);
    snprintf(line, sizeof line, "loaded checkpoint %s at step %lld", path,
             (long long)cse_global_step());
    cse_job_emit_text(j, CSE_JOB_LOG, cse_global_step(), line);
    return CSE_OK;
}

/* With weights, or with initial ones; an adapter that begins as a folder is beside weights. */
static cse_status begin_fresh(job *j)
{
    const cse_job_settings *s = j->settings;
    if (s->weights != NULL)
        return cse_job_load_weights(j, s->weights);
    for (const cse_adapter *a = j->session->network.adapter; a != NULL; a = a->next)
        if (a->given->path != NULL)
            return cse_fail(CSE_CONFIG,
                            "adapter %s begins as the folder %s, and the model with random "
                            "weights: give those that it was trained beside, --weights PATH",
                            a->given->name, a->given->path);
    return CSE_OK;
}

/* Loads the checkpoint that was named, or the newest one. */
static cse_status load(job *j)
{
    char path[PATH_MAX];
    const cse_job_settings *s = j->settings;
    const bool follows = cse_job_follows(j);
    const char *handed_on = follows ? j->environment->hosts->given->file : cse_job_handed_on(j);
    if (follows && handed_on == NULL)
        return begin_fresh(j);
    if (handed_on != NULL) {
        snprintf(path, sizeof path, "%s", handed_on);
    } else if (s->checkpoint_path != NULL) {
        snprintf(path, sizeof path, "%s", s->checkpoint_path);
    } else if (s->autoload_last_checkpoint) {
        cse_status status =
            cse_checkpoint_latest(j->session->configuration.model_dir, path, sizeof path);
        if (status == CSE_NO_INPUT && s->mode == CSE_JOB_TRAIN && cse_job_executes(j) &&
            !s->begin_anew)
            CSE_TRY(cse_check_damaged_start(j->session->configuration.model_dir));
        if (status == CSE_NO_INPUT && s->mode != CSE_JOB_EVALUATE)
            return begin_fresh(j);
        if (status == CSE_NO_INPUT)
            return cse_fail(status, "%s; train first, or give --checkpoint_path FILE",
                            cse_error_message());
        CSE_TRY(status);
    } else {
        return begin_fresh(j);
    }
    if ((handed_on != NULL && !follows) || s->checkpoint_path == NULL) {
        j->session->plan.counts_from_start = true;
        j->session->plan.resumes = s->mode == CSE_JOB_TRAIN && cse_job_executes(j);
    }
    CSE_TRY(load_from(j, path));
    if (s->checkpoint_path != NULL)
        cse_retention_named(j->retention, path);
    if (!follows)
        warn_of_start(j, path);
    return CSE_OK;
}

/* ---- loops ---- */

/* Trains up to the next validation or the end. */
static cse_status train_segment(job *j)
{
    const cse_job_settings *s = j->settings;
    const cse_executor_options options = {
        .num_steps = s->loop.num_steps,
        .max_steps = s->loop.max_steps,
        .num_epochs = s->loop.num_epochs,
        .steps_per_epoch = s->loop.steps_per_epoch,
        .checkpoint_steps = s->no_checkpoints         ? 0
                            : s->checkpoint_steps > 0 ? s->checkpoint_steps
                                                      : INT64_MAX,
        .checkpoint_minutes = s->no_checkpoints ? 0 : s->checkpoint_minutes,
        .activation_steps = s->log_steps > 0 ? s->log_steps : CSE_DEFAULT_LOG_STEPS,
    };
    cse_job_result *result = j->result;
    cse_status status = cse_job_run_loop(j, s->train_dataloader, &options, training_step);
    const cse_session_report *report = &j->session->report;
    result->steps = cse_global_step();
    if ((status != CSE_OK && status != CSE_TIME_LIMIT) || report->last_step == report->first_step)
        return status;
    result->steps_run += report->execution.steps_done - report->first_step;
    result->samples_run += report->samples;
    result->train_seconds += report->execution.train_seconds;
    cse_disk_load_add(&result->disk, &report->execution.disk);
    result->audits.audited += report->execution.audits.audited;
    result->audits.unequal += report->execution.audits.unequal;
    if (result->train_seconds > 0)
        result->samples_per_second = (double)result->samples_run / result->train_seconds;
    return status;
}

static void tell_lack(const job *j, int64_t step, const char *why)
{
    cse_text text = { 0 };
    cse_room_wait_text(step, cse_job_place_is_lost(j) ? "its folder" : "room", why,
                       j->session->configuration.model_dir, &text);
    cse_job_warn(j, &(cse_error){ .status = CSE_IO, .message = text.data });
    cse_text_clear(&text);
}

/* A checkpoint that found no room is tried again until it finds some. The processes of the run have
 * ended; its states are in the session. */
static cse_status save_when_there_is_room(job *j, int64_t step)
{
    const cse_job_phase phase = j->watch.phase;
    cse_room_wait wait = { .endpoint = j->session->execution.endpoint,
                           .stop_requested = stop_requested,
                           .self = j,
                           .stops = stop_requested(j) };
    int64_t told_ns = 0;
    cse_status status;
    bool gives_up = false;
    cse_job_live(&j->life, CSE_ON_NO_ROOM);
    cse_job_watch_phase(&j->watch, CSE_JOB_STORAGE);
    cse_recorder_storage(j->recorder, true);
    while (cse_job_waits_after(j, status = cse_job_save(j, step)) ||
           (status != CSE_OK && j->place != NULL)) {
        char *why = cse_strdup(cse_error_message());
        if (told_ns == 0 || cse_clock_ns() - told_ns >= LACK_INTERVAL_NS) {
            tell_lack(j, step, why);
            told_ns = cse_clock_ns();
        }
        wait.directory[0] = '\0'; /* a place that did not do is not tried again */
        gives_up = !cse_room_wait_turn(&wait);
        if (gives_up)
            status = cse_fail(CSE_IO, "ended before there was %s for its checkpoint: %s",
                              cse_job_place_is_lost(j) ? "a folder" : "room", why);
        free(why);
        if (gives_up)
            break;
        j->place =
            wait.directory[0] != '\0' ? cse_arena_string(j->session->arena, wait.directory) : NULL;
    }
    cse_recorder_storage(j->recorder, false);
    cse_job_watch_phase(&j->watch, phase);
    j->session->execution.paused = j->session->execution.paused || wait.paused;
    cse_job_live(&j->life, gives_up ? CSE_ON_WAIT_GIVEN_UP : CSE_ON_WAIT_OVER);
    j->place = NULL;
    return status;
}

/* A failure of the run ends it only after the last committed step is saved, where its states are
 * whole and not yet in a checkpoint. The failure is told with what became of them. */
static cse_status keep_last_step(job *j, cse_status status)
{
    const int64_t step = cse_global_step();
    if (status == CSE_OK || status == CSE_INTERRUPTED || !cse_job_executes(j) ||
        cse_job_checkpoint_directory(j) == NULL || j->settings->no_checkpoints ||
        j->session->network.states_lost || step == j->saved_step || cse_job_doubts_states(j) ||
        !(cse_job_live(&j->life, CSE_ON_UNSAVED_FAILURE) & CSE_DO_SAVE_LAST))
        return status;
    cse_error *failure = cse_error_copy(cse_error_last());
    failure->status = status;
    cse_status saved = cse_job_save(j, step);
    if (cse_job_waits_after(j, saved))
        saved = save_when_there_is_room(j, step);
    if (saved == CSE_OK)
        cse_fail_at(failure, "%s; all %lld steps that were done are saved: %s", failure->message,
                    (long long)step, j->result->checkpoint_path);
    else
        cse_fail_at(failure, "%s; and its %lld steps cannot be saved: %s", failure->message,
                    (long long)step, cse_error_message());
    free(failure);
    return status;
}

/* Alternates training segments and validations. num_steps and num_epochs of all segments count from
 * the start of the first one. */
static cse_status train(job *j)
{
    bool executes = cse_job_executes(j);
    int64_t run_last_step;
    if (executes && j->settings->save_initial_checkpoint && cse_global_step() == 0 &&
        !j->settings->no_checkpoints)
        CSE_TRY(cse_job_save(j, 0));
    if (j->settings->val_dataloader != NULL)
        j->session->plan.segment = j->settings->eval_frequency;
    cse_job_count_steps(j);
    const bool owes_validation = cse_job_owes_validation(j);
    CSE_TRY(cse_job_hosts_give(j, owes_validation));
    if (owes_validation) {
        CSE_TRY(cse_job_validate_and_look(j));
        j->replayed_step = cse_global_step();
    }
    cse_job_look_at(j, false, 0);
    do {
        if (j->host.stops)
            return CSE_OK;
        CSE_TRY(cse_callback_set_train(j->callbacks, cse_global_step(), true));
        CSE_TRY(train_segment(j));
        if (cse_job_life_waits(j->life))
            CSE_TRY(save_when_there_is_room(j, cse_global_step()));
        run_last_step = j->session->report.run_last_step;
        CSE_TRY(cse_callback_set_train(j->callbacks, cse_global_step(), false));
        if (j->host.stops) /* asked by a callback: the run is done */
            j->result->stopped = false;
        if (j->result->stopped)
            return cse_job_keep_stopped(j);
        /* One that was owed is done, where no step followed. */
        if (j->settings->val_dataloader != NULL &&
            !(owes_validation && j->replayed_step == cse_global_step()))
            CSE_TRY(cse_job_validate_and_look(j));
    } while (executes && !j->result->stopped && cse_global_step() < run_last_step);
    return CSE_OK;
}

/* Training between the hooks of its beginning and its end. */
static cse_status fit(job *j)
{
    if (!cse_job_executes(j))
        return train(j);
    cse_job_begin(j);
    cse_status status = cse_callback_set_fit_start(j->callbacks, j->first_step);
    if (status == CSE_OK)
        status = cse_job_replay(j);
    if (status == CSE_OK)
        status = train(j);
    return cse_callback_set_fit_end(j->callbacks, cse_global_step(), keep_last_step(j, status));
}

/* ---- what callbacks may ask for ---- */

static void log_value(void *self, const char *name, int64_t step, double value)
{
    cse_logger_set_scalar(((const job *)self)->loggers, name, step, value);
    cse_recorder_metric(((const job *)self)->recorder, name, step, value);
}

static void tell_line(void *self, const char *line)
{
    cse_job_emit_text(self, CSE_JOB_LOG, cse_global_step(), line);
}

static cse_status save_only(void *self, const char *path, const char *const *states)
{
    (void)self;
    return cse_session_save_only(path, states);
}

static cse_status make_callbacks(job *j)
{
    const cse_job_settings *s = j->settings;
    j->host =
        (cse_callback_host){ .self = j,
                             .log = log_value,
                             .tell = tell_line,
                             .save_only = save_only,
                             .model_dir = j->session->configuration.model_dir,
                             .optimizer = s->optimizer != NULL ? s->optimizer->settings : NULL };
    if (s->mode != CSE_JOB_TRAIN || !cse_job_executes(j))
        return CSE_OK;
    CSE_TRY(cse_callback_set_new(s->callbacks, s->callback_count, &j->host, &j->callbacks));
    if (cse_job_follows(j))
        j->past = cse_past_validations_parse(j->environment->hosts->given->message.job.validations);
    else if (s->val_dataloader != NULL)
        j->past = cse_past_validations_read(j->host.model_dir, cse_job_validation_names(j));
    return CSE_OK;
}

/* What earlier runs left in model_dir, before this one changes anything there. */
static cse_status look_back(job *j)
{
    const cse_job_settings *s = j->settings;
    const char *model_dir = j->session->configuration.model_dir;
    if (s->mode == CSE_JOB_TRAIN)
        CSE_TRY(cse_job_prepare_validations(j));
    if (s->mode != CSE_JOB_TRAIN || !cse_job_executes(j) || cse_job_follows(j))
        return CSE_OK;
    if (j->environment->run_store)
        CSE_TRY(cse_damage_mend_unless_held(model_dir));
    cse_previous_run_read(model_dir, &j->previous);
    if (j->environment->run_store)
        CSE_TRY(cse_run_target_read(model_dir, j->session->arena, &j->unfinished));
    cse_found_checkpoints_look(j);
    const int64_t keep = j->host.keep > 0 ? j->host.keep : s->keep;
    j->retention = cse_retention_new(
        &(cse_retention_options){ .model_dir = model_dir,
                                  .keep = s->no_checkpoints ? 0 : keep,
                                  .replay_budget = s->no_checkpoints ? 0 : s->replay_budget,
                                  .best = j->best,
                                  .best_is_greatest = s->best_is_greatest,
                                  .diverged_factor = s->diverged_factor });
    bool fresh = s->checkpoint_path == NULL && !s->autoload_last_checkpoint &&
                 cse_takeover_checkpoint(j->environment->takeover) == NULL;
    return fresh && !s->no_checkpoints ? cse_check_fresh_start(model_dir) : CSE_OK;
}

static cse_status open_recorder(job *j)
{
    if (!j->environment->run_store || j->settings->mode != CSE_JOB_TRAIN || !cse_job_executes(j))
        return CSE_OK;
    CSE_TRY(cse_make_directories("model_dir", j->session->configuration.model_dir));
    cse_run_directory_sweep();
    CSE_TRY(cse_run_directory_make(&j->directory));
    const cse_recorder_options options = {
        .configuration = &j->session->configuration,
        .model_name = j->settings->model->name,
        .optimizer_name = j->settings->optimizer != NULL ? j->settings->optimizer->name : NULL,
        .canonical_configuration = j->settings->canonical_configuration,
        .texts = { .resolved = j->settings->resolved_configuration,
                   .origins = j->settings->configuration_origins,
                   .given = j->settings->given_configuration },
        .run_directory = j->directory.path,
        .succession = cse_takeover_succession(j->environment->takeover),
        .tail = j->environment->tail,
        .alerts = j->settings->alerts,
    };
    CSE_TRY(cse_recorder_open(&options, &j->recorder));
    j->session->observer = cse_recorder_observer(j->recorder);
    cse_found_checkpoints_record(j);
    return CSE_OK;
}

/* A configuration can be validated where the checkpoint that it names is not: the user is told. */
static cse_status load_unless_missing(job *j)
{
    cse_status status = load(j);
    if (status != CSE_NO_INPUT || !cse_job_may_miss_checkpoint(j))
        return status;
    cse_log_line(CSE_LOG_WARNING, "no checkpoint was looked at: %s", cse_error_message());
    return CSE_OK;
}

/* The step of a validation of a training hands them out, whether there is a run store or not: it is
 * the same on all hosts. */
static int worst_samples(const cse_job_settings *s)
{
    const bool looks = s->mode == CSE_JOB_TRAIN && s->samples != NULL &&
                       cse_settings_integer(s->samples, "count") > 0;
    return looks ? (int)cse_settings_integer(s->samples, "worst") : 0;
}

static cse_status run_session(job *j)
{
    const cse_job_settings *s = j->settings;
    const bool trains = s->mode != CSE_JOB_EVALUATE, executes = cse_job_executes(j);
    j->session->network.fetches_metrics = true;
    CSE_TRY(make_callbacks(j));
    CSE_TRY(look_back(j));
    CSE_TRY(open_recorder(j));
    cse_job_watch_start(&j->watch,
                        &(cse_job_watch_options){
                            .on_event = j->environment->on_event,
                            .self = j->environment->self,
                            .interval_ns = j->environment->progress_interval_ns,
                            .validates = s->mode == CSE_JOB_TRAIN && s->val_dataloader != NULL },
                        j->session);
    cse_takeover_observe(j->environment->takeover, &j->handed_on, &j->watch.observer);
    cse_validated_samples_attach(&j->validated, j->session, worst_samples(s), &j->watch.observer);
    j->session->execution.paused = cse_takeover_is_paused(j->environment->takeover);
    j->session->saving.canonical_configuration = s->canonical_configuration;
    j->session->saving.effective_settings = s->effective_settings;
    j->session->plan.new_data = s->new_data;
    j->session->plan.begins_with = s->begins_with;
    j->session->plan.no_step_digests = s->no_step_digests;
    j->session->plan.takes_averages = s->mode == CSE_JOB_EVALUATE && s->evaluates_averages;
    j->session->hooks = (cse_session_hooks){
        .self = j,
        .stop_requested = stop_requested,
        .change_hosts = j->environment->host_change != NULL ? change_hosts : NULL,
        .on_planned = on_planned,
        .save = cse_job_save_between,
        .warn = warn,
        .passes = j->environment->passes,
        .kept_arena =
            j->environment->hosts == NULL ? cse_takeover_arena(j->environment->takeover) : NULL
    };
    cse_job_hosts_attach(j);
    CSE_TRY(make_model(j));
    CSE_TRY(cse_job_make_loss(j));
    j->host.model = j->model;
    if (trains)
        CSE_TRY(make_training(j));
    j->host.trained = j->optimizer;
    if (s->val_dataloader != NULL)
        CSE_TRY(cse_job_make_metrics(j));
    if (executes) {
        CSE_TRY(cse_make_directories("model_dir", j->session->configuration.model_dir));
        cse_checkpoint_sweep(j->session->configuration.model_dir);
        CSE_TRY(cse_logger_set_open(j->loggers, j->session->configuration.model_dir));
    }
    CSE_TRY(cse_job_load_teacher(j));
    /* Without execution, a checkpoint that was named is still checked against the model. */
    if ((executes || s->checkpoint_path != NULL || s->weights != NULL) && !s->validates_all)
        CSE_TRY(load_unless_missing(j));
    CSE_TRY(cse_job_check_reference(j));
    j->result->steps = cse_global_step();
    if (s->mode == CSE_JOB_EVALUATE && s->validates_all)
        return cse_job_validate_all(j, load_from);
    CSE_TRY(trains ? fit(j) : cse_job_validate(j));
    /* A validation was under way when it lost its leader: training has ended its last step. */
    if (cse_job_follows(j) && cse_job_checkpoint_directory(j) != NULL &&
        j->saved_step != cse_global_step())
        return cse_job_save(j, cse_global_step());
    return CSE_OK;
}

/* A run that lost a part of its states has a checkpoint to go on from, and other hosts. */
static bool goes_back(const job *j, cse_status status)
{
    if (status == CSE_OK || j->environment->host_change == NULL || !cse_job_lost_part(j))
        return false;
    cse_log_line(CSE_LOG_WARNING, "%s: the run goes on from its last checkpoint, without that host",
                 cse_error_message());
    return true;
}

/* A host that has a part of the states alone has no digest of all; neither has a leading one that
 * was stopped before it had those of the others. */
static bool has_all_states(const job *j)
{
    return j->session->opened.cluster.state_copies == 0 ||
           (!cse_job_follows(j) && !j->session->network.states_lost);
}

static void end_life(job *j, cse_status status)
{
    const cse_job_result *result = j->result;
    const cse_job_life_event over = status == CSE_PREEMPTED ? CSE_ON_STOPPED
                                    : status != CSE_OK      ? CSE_ON_FAILED
                                    : result->hands_on      ? CSE_ON_HANDED_ON
                                    : result->stopped       ? CSE_ON_STOPPED
                                                            : CSE_ON_FINISHED;
    if (cse_job_live(&j->life, over) & CSE_DO_FORGET_END)
        cse_job_forget_target(j);
}

cse_status cse_job_run(const cse_job_environment *environment, cse_job_result *result)
{
    const cse_job_settings *settings = environment->settings;
    cse_configuration session = settings->session;
    *result = (cse_job_result){ .steps = 0 };
    session.compile_only = session.compile_only || settings->mode == CSE_JOB_COMPILE;
    CSE_TRY(cse_config_load_plugins(settings->config, cse_network_plugin_find, NULL));
    CSE_TRY(cse_session_configure(
        &session, &(cse_session_sections){ .precision = settings->precision,
                                           .adapters = settings->adapters,
                                           .freezing = settings->freezing,
                                           .numerics = settings->numerics,
                                           .recompute = settings->recompute,
                                           .states = settings->states,
                                           .memory_limit_bytes = settings->memory_limit_bytes }));
    job j = { .life = CSE_JOB_LIFE_BEGIN,
              .settings = settings,
              .environment = environment,
              .result = result,
              .session = cse_session_open_view("cse_job_run"),
              .directory.lock = -1 };
    cse_session_start_time(j.session, environment->started_ns);
    j.loggers = cse_logger_set_new(settings->loggers, settings->logger_count);
    cse_status status = run_session(&j);
    cse_logger_set_destroy(&j.loggers);
    if (status == CSE_OK && !session.compile_only && !session.validate_only && has_all_states(&j))
        status = cse_job_digest(j.session,
                                settings->mode == CSE_JOB_EVALUATE && !result->foreign_weights &&
                                        result->checkpoint_path[0] != '\0'
                                    ? result->checkpoint_path
                                    : NULL,
                                result->weights_digest);
    if (status == CSE_OK)
        status = cse_job_check_end(&j);
    const bool back = goes_back(&j, status);
    status = back ? CSE_OK : status;
    result->hands_on =
        back || (status == CSE_OK && result->stopped &&
                 cse_host_change_is_asked(environment->host_change) && stop_requested(&j) == 3);
    cse_recorder_close(
        &j.recorder,
        &(cse_recorder_end){ .status = status,
                             .hands_on = back ? "the run goes on from its last checkpoint"
                                         : result->hands_on ? "the run goes on with other hosts"
                                                            : NULL,
                             .stopped = result->stopped,
                             .left_alone = cse_takeover_is_left_alone(environment->takeover),
                             .weights_digest = result->weights_digest });
    end_life(&j, status);
    cse_callback_set_destroy(&j.callbacks);
    cse_past_validations_destroy(&j.past);
    cse_retention_destroy(&j.retention);
    cse_validated_samples_clear(&j.validated);
    cse_run_directory_remove(&j.directory);
    cse_finish();
    return status;
}
