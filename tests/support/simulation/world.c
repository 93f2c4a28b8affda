/* Chance, time, messages, and how a fiber stops. */
#include "tests/support/simulation/world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workers/arena/layout.h"

unsigned world_random(world *w, unsigned n)
{
    w->random = w->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(w->random >> 33) % n;
}

bool world_chance(world *w, unsigned n)
{
    return world_random(w, n) == 0;
}

void world_tell(const world *w, const char *format, ...)
{
    static int told = -1;
    if (told < 0)
        told = getenv("CSE_SIMULATION_TRACE") != NULL;
    if (!told)
        return;
    va_list arguments;
    va_start(arguments, format);
    printf("%10.3f ms: ", (double)w->now_ns * 1e-6);
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
}

void world_fault(world *w, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (w->fault[0] == '\0')
        vsnprintf(w->fault, sizeof w->fault, format, arguments);
    va_end(arguments);
    world_tell(w, "FAULT: %s", w->fault);
    while (fiber_is_running())
        fiber_stop();
}

bool world_is_quiet(const world *w)
{
    return w->turns >= w->scenario.quiet_after;
}

void world_note_fault(world *w)
{
    if (cse_coordinator_state_now(w->coordinator) == CSE_COORDINATOR_SETTLING)
        w->hindered = true;
}

void world_stop(process *p, sleep_until sleep)
{
    p->sleep = sleep;
    fiber_stop();
}

void world_point(process *p)
{
    world_stop(p, (sleep_until){ .ns = p->world->now_ns });
}

static bool has_arrived(const world *w, const mailbox *box)
{
    for (int i = 0; i < box->count; i++)
        if (box->letters[i].due_ns <= w->now_ns)
            return true;
    return false;
}

bool world_is_runnable(const world *w, const process *p)
{
    if (p->fiber == NULL || p->ended || p->frozen_ns != 0)
        return false;
    return p->sleep.ns <= w->now_ns ||
           (p->sleep.doorbell && atomic_load(w->cluster->doorbell) != p->sleep.seen) ||
           (p->sleep.message && has_arrived(w, &p->inbox));
}

/* One sender's letters arrive in their order. */
void world_send(world *w, mailbox *to, letter sent)
{
    const unsigned most_us = world_chance(w, 20) ? 20000 : 200;
    sent.due_ns = w->now_ns + 1000 * (1 + (int64_t)world_random(w, most_us));
    for (int i = 0; i < to->count; i++)
        if (to->letters[i].slot == sent.slot && to->letters[i].due_ns > sent.due_ns)
            sent.due_ns = to->letters[i].due_ns;
    if (to->count == SIMULATED_LETTERS)
        world_fault(w, "%d messages wait for one process", to->count);
    else
        to->letters[to->count++] = sent;
}

bool world_receive(world *w, mailbox *from, letter *taken)
{
    int first = -1;
    for (int i = 0; i < from->count; i++)
        if (from->letters[i].due_ns <= w->now_ns &&
            (first < 0 || from->letters[i].due_ns < from->letters[first].due_ns))
            first = i;
    if (first < 0)
        return false;
    *taken = from->letters[first];
    from->count--;
    memmove(&from->letters[first], &from->letters[first + 1],
            (size_t)(from->count - first) * sizeof from->letters[0]);
    return true;
}

bool world_states_are(const world *w, const unsigned char *states, int64_t steps)
{
    return steps >= 0 && steps <= w->scenario.steps &&
           memcmp(states, w->reference[steps], w->state_bytes) == 0;
}
