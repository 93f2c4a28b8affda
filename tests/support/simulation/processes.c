/* Workers: the protocol of workers/worker/worker_main.c around the real loop of work. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/simulation/world.h"
#include "workers/arena/layout.h"
#include "workers/arena/worker_side.h"

#define MILLISECONDS INT64_C(1000000)

static void send_message(process *p, const cse_message *message)
{
    cse_text bytes = { 0 };
    letter sent = { .slot = p->slot, .incarnation = p->incarnation };
    if (cse_message_encode(message, &bytes) != CSE_OK || bytes.size > sizeof sent.bytes)
        world_fault(p->world, "a message of %zu bytes", bytes.size);
    sent.size = bytes.size;
    memcpy(sent.bytes, bytes.data, bytes.size);
    cse_text_clear(&bytes);
    world_send(p->world, &p->world->control.inbox, sent);
    world_point(p);
}

static void wait_for_time(process *p, int64_t ns)
{
    world_stop(p, (sleep_until){ .ns = p->world->now_ns + ns });
}

/* Takes what has arrived. True: it was told to leave. */
static bool look_at_control(process *p, bool *welcome)
{
    letter taken;
    while (world_receive(p->world, &p->inbox, &taken)) {
        cse_message message;
        if (cse_message_decode(taken.bytes, taken.size, &message) != CSE_OK)
            world_fault(p->world, "a message that cannot be read");
        *welcome = *welcome || message.kind == CSE_MESSAGE_WELCOME;
        if (message.kind == CSE_MESSAGE_STOP)
            return true;
    }
    return p->terminated;
}

static cse_status read_data(void *self, int64_t step, int64_t microbatch, void *bytes)
{
    world *w = self;
    const cse_microbatch_source *source = fake_step_source(w->step);
    if (w->scenario.fails_at == step)
        return cse_fail(CSE_DATA, "the data of step %lld cannot be read", (long long)step);
    return source->read(source->self, step, microbatch, bytes);
}

/* NULL when it can start to work; else its exit code. */
static bool get_ready(process *p, int *code)
{
    world *w = p->world;
    bool welcome = false;
    *code = cse_status_exit_code(CSE_OK);
    wait_for_time(p, 1 + (int64_t)world_random(w, 30) * MILLISECONDS);
    send_message(p, &(cse_message){ .kind = CSE_MESSAGE_JOIN });
    p->joined = true;
    while (!welcome) {
        if (look_at_control(p, &welcome))
            return false;
        if (!welcome)
            world_stop(p, (sleep_until){ .ns = w->now_ns + 100 * MILLISECONDS, .message = true });
    }
    wait_for_time(p, 1 + (int64_t)world_random(w, 20) * MILLISECONDS);
    if (w->scenario.useless_slot == p->slot) {
        *code = 3;
        return false;
    }
    const bool input = cse_cluster_slot_kind(w->cluster, p->slot) == CSE_ROLE_INPUT;
    w->source = (cse_microbatch_source){ .self = w, .read = read_data };
    if (cse_work_new(
            &(cse_work_options){ .cluster = w->cluster,
                                 .slot = p->slot,
                                 .executable = input ? NULL : fake_step_executable(w->step),
                                 .source = input ? &w->source : NULL },
            &p->work) != CSE_OK)
        world_fault(w, "no worker can be made: %s", cse_error_message());
    p->ready = true;
    send_message(p, &(cse_message){ .kind = CSE_MESSAGE_READY });
    return true;
}

static void report_failure(process *p, cse_status status)
{
    char text[CSE_FAILURE_TEXT_BYTES];
    snprintf(text, sizeof text, "%.200s", cse_error_message());
    cse_cluster_report_failure(p->world->cluster, p->slot, status, text);
    world_point(p);
    cse_message failure = { .kind = CSE_MESSAGE_FAILURE };
    failure.failure.status = status;
    failure.failure.text = text;
    send_message(p, &failure);
}

/* The exit code. */
static int do_work(process *p)
{
    world *w = p->world;
    int64_t looked_ns = w->now_ns;
    bool welcome = true;
    for (;;) {
        const uint32_t seen = atomic_load(w->cluster->doorbell);
        p->at = CSE_FAILPOINT_COUNT;
        const cse_work_result result = cse_work_once(p->work);
        p->at = CSE_FAILPOINT_COUNT;
        if (result == CSE_WORK_DONE && p->woke_late && w->scenario.fault_interval == 0 &&
            cse_cluster_slot_kind(w->cluster, p->slot) != CSE_ROLE_INPUT)
            world_fault(w, "a wake-up was lost: process %d had work and slept", p->slot);
        p->woke_late = false;
        if (result == CSE_WORK_ENDED)
            break;
        if (result == CSE_WORK_FAILED) {
            const cse_status status = cse_work_status(p->work);
            report_failure(p, status);
            return cse_status_exit_code(status);
        }
        if (result == CSE_WORK_IDLE) {
            const int64_t until_ns = w->now_ns + 100 * MILLISECONDS;
            world_stop(p, (sleep_until){ .ns = until_ns, .doorbell = true, .seen = seen });
            p->woke_late = atomic_load(w->cluster->doorbell) == seen;
        } else {
            world_point(p);
        }
        if (w->now_ns - looked_ns < 20 * MILLISECONDS)
            continue;
        looked_ns = w->now_ns;
        if (look_at_control(p, &welcome))
            return cse_status_exit_code(p->terminated ? CSE_INTERRUPTED : CSE_OK);
    }
    send_message(p, &(cse_message){ .kind = CSE_MESSAGE_BYE });
    return cse_status_exit_code(CSE_OK);
}

static void body(void *self)
{
    process *p = self;
    int code;
    if (get_ready(p, &code))
        code = do_work(p);
    p->ended = true;
    p->how = (cse_exit){ .code = code };
    world_tell(p->world, "process %d.%d exits with %d", p->slot, p->incarnation, code);
}

void process_start(world *w, int slot, int incarnation)
{
    process *p = &w->processes[slot];
    if (p->fiber != NULL)
        world_fault(w, "slot %d gets a second process", slot);
    *p = (process){ .world = w,
                    .slot = slot,
                    .incarnation = incarnation,
                    .weight = 1 + (int)world_random(w, 4),
                    .at = CSE_FAILPOINT_COUNT };
    p->fiber = fiber_new(body, p);
    world_tell(w, "process %d.%d starts", slot, incarnation);
}

void process_end(process *p, cse_exit how)
{
    if (p->fiber == NULL || p->ended)
        return;
    p->ended = true;
    p->how = how;
    p->frozen_ns = 0;
    world_tell(p->world, "process %d.%d is killed by %d", p->slot, p->incarnation, how.signal);
}

void process_forget(process *p)
{
    cse_work_destroy(&p->work);
    fiber_destroy(&p->fiber);
}
