/* Where an execution begins and ends: its share of the run, of which the limits, the plan of the
 * job and an arena that was found say where it ends. */
#include <math.h>

#include "dataloader/input.h"
#include "run/execution/batch_kinds.h"
#include "run/execution/runner.h"

/* The end of the segment that `first_step` lies in. */
static int64_t segment_end(const cse_session *session, int64_t first_step, int64_t run_start,
                           int64_t run_last_step)
{
    double segment = session->plan.segment;
    if (segment <= 0)
        return run_last_step;
    if (segment < 1)
        segment *= (double)(run_last_step - run_start);
    int64_t steps = (int64_t)ceil(segment) < 1 ? 1 : (int64_t)ceil(segment);
    int64_t end = run_start + ((first_step - run_start) / steps + 1) * steps;
    return end < run_last_step ? end : run_last_step;
}

/* The part of the run that this execution has a share of. */
static void cut_steps(cse_runner *r, int64_t first, int64_t start, int64_t run_last)
{
    const int64_t ahead = r->found ? r->facts.end_step - 1 : first;
    r->origin = start;
    r->first_step = first;
    if (!r->follows)
        r->begin_step = first;
    r->end_step = r->step->training ? segment_end(r->session, ahead, start, run_last) : run_last;
    r->last_step = r->found ? r->facts.end_step : cse_runner_kind_end(r, first, r->end_step);
    if (r->last_step > r->end_step || !cse_dataloader_is_uneven(r->loader))
        r->end_step = r->last_step;
}

cse_status cse_runner_plan_steps(cse_runner *r)
{
    const cse_executor_options *o = r->options;
    const cse_dataloader *loader = r->loader;
    cse_session *session = r->session;
    const cse_loop_settings loop = { .num_steps = o->num_steps,
                                     .max_steps = o->max_steps,
                                     .num_epochs = o->num_epochs,
                                     .steps_per_epoch = o->steps_per_epoch };
    const int64_t done = r->found ? r->facts.freed : session->training.global_step;
    int64_t steps = 0, first = r->step->training ? done : 0;
    int64_t start = session->plan.counts_from_start ? session->plan.run_start : first;
    if (r->follows) {
        first = r->at;
        start = r->origin;
    }
    CSE_TRY(cse_compute_num_steps(&loop, cse_dataloader_steps_per_epoch(loader), start, &steps));
    int64_t asked = start + steps;
    if (session->plan.counts_from_start && session->plan.run_end > 0)
        asked = session->plan.run_end;
    int64_t run_last = asked > first ? asked : first;
    /* Epochs of data that are not there are of any length. */
    if (run_last > INT32_MAX && cse_dataloader_is_unseen(loader))
        run_last = asked = INT32_MAX;
    if (run_last > INT32_MAX)
        return cse_fail(CSE_CONFIG,
                        "loop: the run would end at step %lld; steps are counted up to "
                        "2147483647",
                        (long long)run_last);
    cut_steps(r, first, start, run_last);
    session->report.first_step = first;
    session->report.last_step = r->end_step;
    session->report.run_first_step = start;
    session->report.run_last_step = run_last;
    session->report.asked_last_step = asked;
    session->report.steps_per_epoch =
        o->steps_per_epoch > 0 ? o->steps_per_epoch : cse_dataloader_steps_per_epoch(loader);
    return cse_runner_check_batch(r);
}
