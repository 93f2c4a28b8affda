/* An execution as a loop of the caller's own.
 *
 * The coordinator is a state machine that wants turns (workers/control/execution.h), so no thread
 * is needed: cse_execution_next takes turns until a step waits in the queue, and hands it out. A
 * turn may commit several steps, and stops at a checkpoint step until its states were copied; so
 * the queue is as short as what may be ahead of the coordinator, and the copy of the states is that
 * of the last checkpoint in it. What waits costs a copy of the step's fetched values. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/types/shape.h"
#include "engine/nn/owner.h"
#include "run/execution/runner.h"

struct cse_loop {
    cse_runner runner;
    cse_waiting_step *at; /* the step that was handed out; NULL: none */
    bool over;            /* its runner is closed */
    bool busy;            /* a closure of its step is called */
    cse_status status;
    cse_error *failure; /* NULL while `status` is CSE_OK */
};

static cse_waiting_step *take_waiting(cse_runner *r)
{
    cse_waiting_step *waiting = r->first_waiting;
    r->first_waiting = waiting->next;
    if (r->first_waiting == NULL)
        r->last_waiting = NULL;
    return waiting;
}

/* ---- steps ---- */

static void keep_failure(cse_loop *loop, cse_status status)
{
    if (loop->status != CSE_OK || status == CSE_OK)
        return;
    loop->status = status;
    loop->failure = cse_error_copy(cse_error_last());
    loop->failure->status = status;
}

/* The step that was handed out is over. */
static void leave_step(cse_loop *loop)
{
    if (loop->at == NULL)
        return;
    if (loop->at->checkpoint)
        cse_runner_leave_checkpoint(&loop->runner);
    loop->runner.session->execution.delivered = NULL;
    free(loop->at->values);
    free(loop->at);
    loop->at = NULL;
}

/* Takes the first step of the queue and calls its closures. A failure of one ends the run after
 * the step in flight, and no later step is handed out. */
static void enter_step(cse_loop *loop)
{
    cse_runner *r = &loop->runner;
    cse_status status = loop->status;
    loop->at = take_waiting(r);
    loop->busy = true;
    r->session->execution.delivered = loop->at->values;
    r->session->execution.delivered_step = loop->at->record.step + 1;
    if (loop->at->checkpoint)
        cse_runner_enter_checkpoint(r);
    if (status == CSE_OK && loop->at->activation)
        status = cse_runner_call(r, false, &loop->at->record);
    if (status == CSE_OK && loop->at->checkpoint)
        status = cse_runner_call(r, true, &loop->at->record);
    loop->busy = false;
    keep_failure(loop, status);
    if (status == CSE_OK)
        return;
    r->stop = CSE_STOP_CHECKPOINT;
    leave_step(loop);
}

static void close_loop(cse_loop *loop, cse_status status)
{
    keep_failure(loop, cse_runner_close(&loop->runner, status));
    loop->over = true;
}

/* Its execution has ended: the next one of its row begins, or none does. */
static void follow_or_close(cse_loop *loop)
{
    cse_status status = CSE_OK;
    if (!cse_runner_goes_on(&loop->runner, &status) || status != CSE_OK)
        close_loop(loop, status);
}

/* Up to a step that is handed out (true), the end, or the deadline. */
static bool go_on(cse_loop *loop, int64_t deadline_ns)
{
    bool looked = false;
    leave_step(loop);
    while (!loop->over) {
        if (loop->runner.first_waiting != NULL) {
            enter_step(loop);
            if (loop->at != NULL)
                return true;
            continue;
        }
        const int64_t left_ns = deadline_ns - cse_clock_ns();
        if (looked && left_ns <= 0)
            return false;
        looked = true;
        if (cse_runner_turn(&loop->runner, left_ns) && loop->runner.first_waiting == NULL)
            follow_or_close(loop);
    }
    return false;
}

/* ---- the public calls ---- */

cse_loop *cse_execution_begin(cse_executor *executor, cse_step_function *function, void *self)
{
    cse_session *session = cse_session_open_view("cse_execution_begin");
    if (session == NULL)
        return NULL;
    if (session->execution.loop != NULL) {
        cse_fail(CSE_USAGE, "cse_execution_begin: a loop is open already; cse_execution_end first");
        return NULL;
    }
    cse_loop *loop = cse_calloc(1, sizeof *loop);
    loop->runner = (cse_runner){ .session = session, .queues = true };
    cse_status status =
        cse_runner_open(&loop->runner, "cse_execution_begin", executor, function, self);
    session->execution.loop = loop;
    if (status != CSE_OK)
        close_loop(loop, status);
    return loop;
}

cse_next cse_execution_next(cse_loop *loop, int timeout_ms)
{
    if (loop == NULL || cse_network_check_owner("cse_execution_next") != CSE_OK)
        return CSE_NEXT_FAILED;
    if (loop->busy) {
        cse_fail(CSE_USAGE, "cse_execution_next: not from a closure of the same execution");
        return CSE_NEXT_FAILED;
    }
    const int64_t deadline_ns =
        timeout_ms < 0 ? INT64_MAX : cse_clock_ns() + (int64_t)timeout_ms * 1000000;
    if (go_on(loop, deadline_ns))
        return CSE_NEXT_STEP;
    if (!loop->over)
        return CSE_NEXT_TIMEOUT;
    if (loop->status == CSE_OK)
        return CSE_NEXT_END;
    cse_fail_again(loop->failure);
    return CSE_NEXT_FAILED;
}

int64_t cse_execution_step(const cse_loop *loop)
{
    return loop != NULL && loop->at != NULL ? loop->at->record.step + 1 : 0;
}

bool cse_execution_at_activation(const cse_loop *loop)
{
    return loop != NULL && loop->at != NULL && loop->at->activation;
}

bool cse_execution_at_checkpoint(const cse_loop *loop)
{
    return loop != NULL && loop->at != NULL && loop->at->checkpoint;
}

static cse_status end_loop(cse_loop **ended, cse_stop_request stop)
{
    cse_loop *loop = *ended;
    *ended = NULL;
    loop->runner.stop = stop;
    while (go_on(loop, INT64_MAX))
        continue;
    loop->runner.session->execution.loop = NULL;
    cse_status status = loop->status;
    if (status != CSE_OK)
        cse_fail_again(loop->failure);
    free(loop->failure);
    free(loop);
    return status;
}

cse_status cse_execution_end(cse_loop **loop)
{
    if (loop == NULL || *loop == NULL)
        return cse_fail(CSE_USAGE, "cse_execution_end: there is no loop");
    CSE_TRY(cse_network_check_owner("cse_execution_end"));
    if ((*loop)->busy)
        return cse_fail(CSE_USAGE, "cse_execution_end: not from a closure of the same execution");
    return end_loop(loop, CSE_STOP_CHECKPOINT);
}

void cse_session_abandon_loop(cse_session *session)
{
    cse_loop *loop = session->execution.loop;
    if (loop != NULL)
        (void)end_loop(&loop, CSE_STOP_NOW);
}
