/* A trial's job is known by its id, NAME-TRIAL-RUNG, and by its label: one of that id alone may be
 * anybody's. */
#include "dashboard/sweeps/sweep_trials.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/run_lock.h"

const char *const cse_trial_state_names[] = { "waiting", "queued", "running", "measured",
                                              "stopped", "done",   "failed" };

typedef struct search {
    const cse_sweep_log *log;
    cse_jobs *jobs;
    cse_sweep_trial *trials;
    int *rungs; /* of the trials' jobs; -1: none was found */
    char prefix[48];
} search;

/* ---- jobs ---- */

static int64_t step_of(cse_jobs *jobs, const char *model_dir)
{
    cse_store_reader *reader = NULL;
    cse_run_status run = { .last_step = -1 };
    if (cse_readers_borrow(jobs->options.readers, model_dir, &reader) != CSE_OK)
        return -1;
    if (cse_store_reader_status(reader, &run) != CSE_OK)
        run.last_step = -1;
    cse_readers_give_back(jobs->options.readers, model_dir, &reader);
    return run.last_step;
}

/* The job of a later rung is the trial's; one that has not ended tells what the trial does. */
static bool take_job(void *self, const cse_job *job)
{
    search *s = self;
    int trial = 0, rung = -1, length = 0;
    const size_t begin = strlen(s->prefix);
    const char *id = job->record.id;
    if (strncmp(id, s->prefix, begin) != 0 ||
        sscanf(id + begin, "%d-%d%n", &trial, &rung, &length) != 2 || id[begin + length] != '\0' ||
        trial < 1 || trial > s->log->plan.trials || rung < 0 || rung >= s->log->plan.rungs ||
        rung <= s->rungs[trial - 1] || !cse_job_has_label(&job->record, "sweep", s->log->plan.name))
        return true;
    cse_sweep_trial *found = &s->trials[trial - 1];
    s->rungs[trial - 1] = rung;
    snprintf(found->job, sizeof found->job, "%s", id);
    if (!job->settled && s->log->state.results[trial - 1].rung < rung) {
        found->state = job->alive ? CSE_TRIAL_RUNNING : CSE_TRIAL_QUEUED;
        found->step = job->alive ? step_of(s->jobs, job->record.model_dir) : -1;
    }
    return true;
}

static void look_at_jobs(search *s)
{
    snprintf(s->prefix, sizeof s->prefix, "%.40s-", s->log->plan.name);
    s->rungs = malloc((size_t)s->log->plan.trials * sizeof *s->rungs);
    if (s->rungs == NULL)
        return;
    for (int i = 0; i < s->log->plan.trials; i++)
        s->rungs[i] = -1;
    cse_jobs_each(s->jobs, take_job, s);
    free(s->rungs);
}

/* ---- runs in the sweep's folder ---- */

static void look_at_run(const search *s, int trial)
{
    char folder[PATH_MAX];
    cse_sweep_trial *found = &s->trials[trial];
    if (found->state != CSE_TRIAL_WAITING || s->log->state.results[trial].failed ||
        (size_t)snprintf(folder, sizeof folder, "%s/trial_%04d", s->log->state.folder, trial + 1) >=
            sizeof folder ||
        !cse_run_is_alive(folder))
        return;
    found->state = CSE_TRIAL_RUNNING;
    found->step = step_of(s->jobs, folder);
}

/* ---- all ---- */

/* Of a trial that is not under way. */
static cse_trial_state state_of(const cse_sweep_log *log, int trial, int rung)
{
    const cse_sweep_result *result = &log->state.results[trial];
    if (result->failed)
        return CSE_TRIAL_FAILED;
    if (result->rung < 0)
        return CSE_TRIAL_WAITING;
    if (result->rung == log->plan.rungs - 1)
        return CSE_TRIAL_DONE;
    return result->rung < rung ? CSE_TRIAL_STOPPED : CSE_TRIAL_MEASURED;
}

cse_sweep_trial *cse_sweep_trials_look(const cse_sweep_log *log, cse_jobs *jobs, int rung,
                                       const int *members, int count)
{
    const int trials = log->plan.trials;
    search s = { .log = log, .jobs = jobs };
    s.trials = cse_arena_alloc(log->state.arena, (size_t)trials * sizeof *s.trials);
    for (int i = 0; i < trials; i++)
        s.trials[i] = (cse_sweep_trial){ .state = state_of(log, i, rung), .step = -1 };
    for (int i = 0; rung < log->plan.rungs && i < count; i++)
        if (log->state.results[members[i]].rung < rung)
            s.trials[members[i]].state = CSE_TRIAL_WAITING;
    look_at_jobs(&s);
    for (int i = 0; rung < log->plan.rungs && i < count; i++)
        look_at_run(&s, members[i]);
    return s.trials;
}
