/* Who decides comes in this order: the host that leads, the coordinator before this one, the
 * unfinished run of model_dir, and only then the limits that were given. */
#include "run/job/job_hosts.h"

#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/log.h"

typedef cse_job job;

/* The same limits as those of the unfinished run, at one of its steps. A checkpoint that is named
 * begins anew there. */
static bool is_unfinished_run(const job *j)
{
    const cse_job_settings *s = j->settings;
    const cse_run_target *run = j->unfinished;
    const int64_t step = cse_global_step();
    if (run == NULL || s->checkpoint_path != NULL || step < run->first_step ||
        step > run->last_step)
        return false;
    return j->environment->takes_lead ||
           strcmp(cse_run_target_of(s, j->session->arena).length, run->length) == 0;
}

/* A named checkpoint and the flag --num_steps ask for so many steps from here on; in a
 * configuration it is the length of training from step 0. */
static int64_t first_step_of_limits(const job *j)
{
    if (!j->session->plan.counts_from_start || j->settings->num_steps_from_here)
        return cse_global_step();
    return 0;
}

void cse_job_count_steps(cse_job *j)
{
    cse_session_plan *plan = &j->session->plan;
    plan->run_end = 0;
    if (cse_job_follows(j)) {
        plan->run_start = j->environment->hosts->given->message.job.run_start;
        plan->run_end = j->environment->hosts->given->message.job.run_end;
    } else if (cse_takeover_target(j->environment->takeover, &plan->run_start, &plan->run_end)) {
        cse_job_live(&j->life, CSE_ON_COUNTED_TAKEN);
        j->target = cse_run_target_of(j->settings, j->session->arena);
        j->target.first_step = plan->run_start;
        j->target.last_step = plan->run_end;
    } else if (is_unfinished_run(j)) {
        plan->run_start = j->unfinished->first_step;
        plan->run_end = j->unfinished->last_step;
        cse_job_live(&j->life, CSE_ON_COUNTED_UNFINISHED);
    } else {
        plan->run_start = first_step_of_limits(j);
        if (j->environment->run_store)
            cse_job_live(&j->life, CSE_ON_COUNTED_ANEW);
    }
    plan->counts_from_start = true;
}

/* ---- what is told of an unfinished run ---- */

static void warn_of_other_end(const job *j, const cse_run_target *now)
{
    const cse_run_target *run = j->unfinished;
    const bool named = j->settings->checkpoint_path != NULL;
    const int64_t end = j->session->report.asked_last_step;
    cse_text text = { 0 };
    if (end == run->last_step)
        return;
    cse_text_add(&text,
                 "the run of %s is unfinished: it began at step %lld and was to end at step %lld "
                 "(%s); this start %s%s, which ends at step %lld; to go on to step %lld, give "
                 "%s%s",
                 j->session->configuration.model_dir, (long long)run->first_step,
                 (long long)run->last_step, run->length,
                 named ? "has a checkpoint named, with " : "has ", now->length, (long long)end,
                 (long long)run->last_step, run->length, named ? " and no checkpoint" : "");
    cse_job_warn(j, &(cse_error){ .status = CSE_DATA, .message = text.data });
    cse_text_clear(&text);
}

static void warn_of_changes(const job *j, const cse_run_target *now)
{
    cse_text text = { 0 };
    cse_run_target_changes(j->unfinished, now, &text);
    if (text.data != NULL) {
        const char *line = cse_arena_printf(
            j->session->arena,
            "the unfinished run of %s goes on from step %lld with other settings: %s",
            j->session->configuration.model_dir, (long long)cse_global_step(), text.data);
        cse_job_warn(j, &(cse_error){ .status = CSE_DATA, .message = line });
    }
    cse_text_clear(&text);
}

void cse_job_keep_target(cse_job *j, unsigned actions)
{
    const cse_session_report *report = &j->session->report;
    cse_run_target target = cse_run_target_of(j->settings, j->session->arena);
    if (j->unfinished != NULL && actions & CSE_DO_TELL_END)
        warn_of_other_end(j, &target);
    if (j->unfinished != NULL && actions & CSE_DO_TELL_CHANGES &&
        j->settings->checkpoint_path == NULL)
        warn_of_changes(j, &target);
    if (!(actions & CSE_DO_KEEP_END))
        return;
    target.first_step = report->run_first_step;
    target.last_step = report->run_last_step;
    if (cse_run_target_keep(j->session->configuration.model_dir, &target) != CSE_OK)
        cse_log_line(CSE_LOG_WARNING,
                     "where this run ends cannot be written down, so a start that repeats it "
                     "counts its limits anew: %s",
                     cse_error_message());
    cse_takeover_note_target(j->environment->takeover, target.first_step, target.last_step);
    j->session->plan.run_end = target.last_step;
    j->target = target;
}

void cse_job_forget_target(const cse_job *j)
{
    if (j->environment->takeover != NULL)
        cse_takeover_note_over(j->environment->takeover);
    else
        cse_run_target_remove(j->session->configuration.model_dir);
}
