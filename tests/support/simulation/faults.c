/* Kills, freezes, operators' commands, and other weights of the processes' turns. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/simulation/world.h"

#define MILLISECONDS INT64_C(1000000)

static void say(world *w, const cse_message *message)
{
    cse_text bytes = { 0 };
    letter sent = { .slot = -1 };
    if (cse_message_encode(message, &bytes) == CSE_OK && bytes.size <= sizeof sent.bytes) {
        sent.size = bytes.size;
        memcpy(sent.bytes, bytes.data, bytes.size);
        world_send(w, &w->control.inbox, sent);
        w->counts->commands++;
        world_tell(w, "an operator says %s", cse_message_kind_name(message->kind));
    }
    cse_text_clear(&bytes);
}

static void ask_to_end(world *w)
{
    cse_message message = { .kind = CSE_MESSAGE_STOP };
    w->asked_to_end = true;
    switch (world_random(w, 6)) {
    case 0:
        message.kind = CSE_MESSAGE_KILL;
        w->asked_to_end_now = true;
        break;
    case 1:
        message.kind = CSE_MESSAGE_CANCEL;
        message.cancel.save = world_random(w, 2);
        message.cancel.grace_ms = world_random(w, 3000);
        w->asked_to_end_now = true;
        break;
    case 2:
        w->request = CSE_STOP_CHECKPOINT;
        world_tell(w, "a signal asks for the end");
        return;
    case 3:
        w->request = CSE_STOP_NOW;
        w->asked_to_end_now = true;
        world_tell(w, "signals ask for the end at once");
        return;
    default:
        break;
    }
    say(w, &message);
}

static void command(world *w)
{
    static const cse_message_kind kinds[] = { CSE_MESSAGE_PAUSE,      CSE_MESSAGE_RESUME,
                                              CSE_MESSAGE_CHECKPOINT, CSE_MESSAGE_SCALE,
                                              CSE_MESSAGE_STATUS,     CSE_MESSAGE_RESUME };
    cse_message message = { .kind = kinds[world_random(w, 6)] };
    if (message.kind == CSE_MESSAGE_SCALE)
        message.scale.num_csx = world_random(w, 6);
    if (w->scenario.asks_to_end && world_chance(w, 8))
        ask_to_end(w);
    else
        say(w, &message);
}

static process *any_process(world *w)
{
    process *found = NULL;
    int seen = 0;
    for (int s = 0; s < w->slot_count; s++)
        if (w->processes[s].fiber != NULL && !w->processes[s].ended &&
            world_chance(w, (unsigned)++seen))
            found = &w->processes[s];
    return found;
}

static void kill_one(world *w)
{
    process *p = any_process(w);
    if (p == NULL)
        return;
    w->counts->kills++;
    world_note_fault(w);
    if (p->at < CSE_FAILPOINT_COUNT)
        w->counts->kills_at[p->at]++;
    process_end(p, (cse_exit){ .code = -1, .signal = SIGKILL });
}

static void freeze_one(world *w)
{
    process *p = any_process(w);
    if (p == NULL || p->frozen_ns != 0)
        return;
    w->counts->freezes++;
    world_note_fault(w);
    p->frozen_ns = w->now_ns;
    p->thaws_ns = w->now_ns + (1 + (int64_t)world_random(w, 20000)) * MILLISECONDS;
    world_tell(w, "process %d.%d is frozen", p->slot, p->incarnation);
}

static void end_coordinator(world *w)
{
    world_tell(w, "the coordinator is killed");
    w->counts->kills++;
    w->control.ended = true;
}

static void thaw(world *w, bool all)
{
    for (int s = 0; s < w->slot_count; s++) {
        process *p = &w->processes[s];
        if (p->frozen_ns != 0 && (all || p->thaws_ns <= w->now_ns))
            p->frozen_ns = 0;
    }
}

void world_disturb(world *w)
{
    const scenario *s = &w->scenario;
    const bool quiet = world_is_quiet(w);
    thaw(w, quiet);
    if (quiet && w->turns % 2000 == 0)
        say(w, &(cse_message){ .kind = CSE_MESSAGE_RESUME });
    if (quiet || s->fault_interval == 0 || !world_chance(w, (unsigned)s->fault_interval))
        return;
    const unsigned what = world_random(w, 100);
    if (what < 50 && s->kills)
        kill_one(w);
    else if (what < 60 && s->kills && s->freezes)
        freeze_one(w);
    else if (what < 90 && s->commands)
        command(w);
    else if (what < 95 && s->kills && s->kills_coordinator)
        end_coordinator(w);
    else
        for (int i = 0; i < w->slot_count; i++)
            w->processes[i].weight = world_chance(w, 4) ? 1 : 1 + (int)world_random(w, 40);
}
