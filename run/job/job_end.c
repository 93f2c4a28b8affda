/* How a job that did its steps ends: it may have been told to leave its place, or have trained
 * nothing of use. All is saved by then. */
#include "run/job/job_hosts.h"
#include "run/job/job_parts.h"

/* The steps are saved by then, as at any other stop. */
static cse_status check_preemption(const cse_job *j)
{
    if (!j->result->stopped || j->environment->preempted == NULL ||
        !j->environment->preempted(j->environment->self))
        return CSE_OK;
    return cse_fail_at(&(cse_error){ .status = CSE_PREEMPTED,
                                     .hint = "started again, the run goes on from there" },
                       "the run ends after step %lld: SIGUSR1 asked for its place",
                       (long long)j->result->steps);
}

cse_loss_verdict cse_job_trend(cse_job *j)
{
    /* A start that found nothing left to do judges what is there. */
    cse_loss_trend_begin(&j->watch.trend, j->watch.model_dir, INT64_MAX);
    return cse_loss_trend_judge(&j->watch.trend, j->settings->diverged_factor);
}

/* The losses are those of all hosts, and the leader speaks for them. */
static cse_status check_divergence(cse_job *j)
{
    if (j->settings->mode != CSE_JOB_TRAIN || !cse_job_executes(j) || j->result->stopped ||
        cse_job_follows(j))
        return CSE_OK;
    const cse_loss_verdict verdict = cse_job_trend(j);
    if (!verdict.diverged)
        return CSE_OK;
    return cse_fail_at(
        &(cse_error){ .status = CSE_DIVERGED,
                      .hint = "lower the learning rate, clip gradients, or check the data, and "
                              "start from a checkpoint before it; loop.diverged_factor: 0 takes "
                              "such an end for a success" },
        "the training has diverged: the loss of its last %d steps is %g (median), that of its "
        "first steps %g; the limit is %g times that (loop.diverged_factor)",
        CSE_TREND_STEPS, verdict.last, verdict.size, j->settings->diverged_factor);
}

cse_status cse_job_check_end(cse_job *j)
{
    CSE_TRY(check_preemption(j));
    return check_divergence(j);
}
