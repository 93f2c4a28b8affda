/* Checkpoints of a job: the last one is written by the coordinator, which waits for it; others by a
 * process of their own while training goes on. What follows from a checkpoint (the event, the row
 * of the run store, what is removed, what a successor loads) follows when its file stands. */
#include <limits.h>
#include <stdio.h>

#include "engine/base/clock.h"
#include "run/job/job_folder.h"
#include "run/job/job_hosts.h"
#include "run/saving/background_save.h"
#include "run/saving/room_wait.h"

typedef cse_job job;

/* The file stands. */
static cse_status tell_written(job *j, cse_written_checkpoint *written)
{
    j->saved_step = written->step;
    const bool fails = cse_job_life_fails(j->life);
    if (!fails)
        cse_takeover_note_checkpoint(j->environment->takeover, written->path);
    written->digest = j->session->saving.digest;
    written->identity = j->session->saving.latest.digest;
    if (j->recorder != NULL)
        cse_recorder_checkpoint(j->recorder, written);
    snprintf(j->result->checkpoint_path, sizeof j->result->checkpoint_path, "%s", written->path);
    cse_job_emit_text(j, CSE_JOB_CHECKPOINT, written->step, written->path);
    if (!fails) {
        cse_retention_written(j->retention, written->step);
        cse_retention_step_seconds(j->retention, j->watch.step_seconds);
        cse_retention_apply(j->retention, j->recorder);
    }
    const cse_callback_checkpoint told = { .step = written->step, .path = written->path };
    return cse_callback_set_checkpoint(j->callbacks, CSE_AFTER_SAVING, &told);
}

cse_status cse_job_save(job *j, int64_t step)
{
    char path[PATH_MAX];
    const char *place = j->place != NULL ? j->place : cse_job_checkpoint_directory(j);
    if (place == NULL)
        return CSE_OK;
    if (cse_job_life_fails(j->life))
        cse_failed_checkpoint_path(j->session, place, step, path);
    else
        cse_checkpoint_path(place, step, path, sizeof path);
    CSE_TRY(cse_job_make_place(j, place));
    const bool waits = cse_job_life_waits(j->life);
    const cse_job_phase phase = j->watch.phase;
    const cse_callback_checkpoint told = { .step = step, .path = path };
    CSE_TRY(cse_callback_set_checkpoint(j->callbacks, CSE_BEFORE_SAVING, &told));
    if (!waits) {
        cse_recorder_saving(j->recorder, true);
        cse_job_watch_phase(&j->watch, CSE_JOB_SAVING);
    }
    cse_written_checkpoint written = { .step = step, .path = path, .start_ns = cse_clock_ns() };
    cse_status status = cse_save(path);
    written.end_ns = cse_clock_ns();
    cse_job_watch_phase(&j->watch, phase);
    if (!waits)
        cse_recorder_saving(j->recorder, false);
    return status == CSE_OK ? tell_written(j, &written) : status;
}

/* A failure to write a checkpoint that may not be missing. */
static cse_status note_saving(job *j, cse_status status)
{
    cse_job_live(&j->life, status == CSE_OK ? CSE_ON_SAVED : CSE_ON_NOT_SAVED);
    return status;
}

static cse_status on_saved(void *self, const cse_background_result *result)
{
    job *j = self;
    cse_recorder_saving(j->recorder, false);
    if (result->status != CSE_OK) {
        cse_status status = cse_pass_over_checkpoint(result->step, result->status, "training");
        return note_saving(j, status);
    }
    return tell_written(j, &(cse_written_checkpoint){ .step = result->step,
                                                      .path = result->path,
                                                      .start_ns = result->start_ns,
                                                      .end_ns = result->end_ns });
}

/* `begun` false: the coordinator writes it. */
static cse_status save_in_background(job *j, int64_t step, bool *begun)
{
    char path[PATH_MAX];
    *begun = false;
    if (!cse_session_can_save_in_background(j->session))
        return CSE_OK;
    if (cse_job_make_place(j, j->session->configuration.model_dir) != CSE_OK)
        return CSE_OK; /* the coordinator says what is wrong */
    cse_checkpoint_path(j->session->configuration.model_dir, step, path, sizeof path);
    const cse_callback_checkpoint told = { .step = step, .path = path };
    CSE_TRY(cse_callback_set_checkpoint(j->callbacks, CSE_BEFORE_SAVING, &told));
    const cse_background_request request = { .path = path, .self = j, .done = on_saved };
    *begun = cse_session_save_in_background(j->session, &request) == CSE_OK;
    if (*begun)
        cse_recorder_saving(j->recorder, true);
    return CSE_OK;
}

/* The last one is waited for; a failure to write it fails the run. */
cse_status cse_job_save_step(void *self, const cse_values *values)
{
    job *j = self;
    int64_t step = cse_values_step(values);
    if (cse_job_checkpoint_directory(j) == NULL)
        return CSE_OK;
    bool ends = j->session->execution.ending || step == j->session->report.run_last_step;
    bool begun = false;
    if (!ends)
        CSE_TRY(save_in_background(j, step, &begun));
    if (begun)
        return CSE_OK;
    cse_status status = cse_job_save(j, step);
    if (ends && cse_job_waits_after(j, status)) {
        cse_job_live(&j->life, CSE_ON_NO_ROOM);
        return CSE_OK;
    }
    if (!ends)
        status = cse_pass_over_checkpoint(step, status, "training");
    return note_saving(j, status);
}

/* During a validation: the states are those of the last step of training. */
cse_status cse_job_save_between(void *self)
{
    job *j = self;
    if (j->settings->mode == CSE_JOB_EVALUATE || cse_global_step() == 0)
        return CSE_OK;
    return cse_pass_over_checkpoint(cse_global_step(), cse_job_save(j, cse_global_step()),
                                    "validation");
}

/* A stop between two executions of a row found no step whose values a checkpoint could be made
 * with (batch_kinds.h): its states are saved here. */
cse_status cse_job_keep_stopped(cse_job *j)
{
    const int64_t step = cse_global_step();
    if (!cse_job_executes(j) || cse_job_checkpoint_directory(j) == NULL ||
        j->settings->no_checkpoints || j->session->network.states_lost || step == j->saved_step)
        return CSE_OK;
    return cse_job_save(j, step);
}
