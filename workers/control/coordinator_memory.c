/* Workers that the kernel kills for lack of memory.
 *
 * Such a death is survived as any other, since what took the memory may be over; it is another
 * thing where it comes again: what a run needs does not change by starting its processes anew. So
 * these deaths have a budget of their own, for all slots together. A count that the kernel keeps
 * tells them from other deaths by the same signal. */
#include <signal.h>
#include <stdio.h>

#include "workers/control/coordinator_state.h"

#define SECONDS INT64_C(1000000000)

enum {
    MOST_WITHOUT_STEP = 3, /* that are survived without a step between them */
    MOST_IN_WINDOW = 8,    /* that are survived in any case */
};
#define WINDOW_NS (600 * SECONDS)
#define CREDIT_NS \
    (2 * SECONDS) /* the kernel counts before it kills, and may kill several at once */

void cse_coordinator_watch_memory(cse_coordinator *c)
{
    c->memory.seen = c->io->memory_kills != NULL ? c->io->memory_kills(c->io->self) : -1;
    c->memory.steps = -1;
}

bool cse_coordinator_died_of_memory(cse_coordinator *c, const cse_worker *w, cse_exit how)
{
    cse_memory_deaths *m = &c->memory;
    if (how.signal != SIGKILL || w->frozen || w->late || m->seen < 0)
        return false;
    const int64_t kills = c->io->memory_kills(c->io->self), now = cse_coordinator_now_ns(c);
    if (kills > m->seen) {
        m->unclaimed = kills - m->seen;
        m->unclaimed_ns = now;
        m->seen = kills;
    }
    if (m->unclaimed == 0 || now - m->unclaimed_ns > CREDIT_NS)
        return false;
    m->unclaimed--;
    return true;
}

/* Counts one; true where it is one too many. */
static bool is_too_many(cse_coordinator *c)
{
    cse_memory_deaths *m = &c->memory;
    const int64_t now = cse_coordinator_now_ns(c), steps = c->arena->steps_done(c->cluster);
    if (m->in_window == 0 || now - m->window_ns > WINDOW_NS) {
        m->window_ns = now;
        m->in_window = 0;
    }
    if (steps != m->steps)
        m->without_step = 0;
    m->steps = steps;
    m->in_window++;
    m->without_step++;
    return m->without_step > MOST_WITHOUT_STEP || m->in_window > MOST_IN_WINDOW;
}

bool cse_coordinator_end_for_memory(cse_coordinator *c)
{
    char about[1600] = "";
    if (!is_too_many(c))
        return false;
    if (c->io->describe_memory != NULL)
        c->io->describe_memory(c->io->self, about, sizeof about);
    cse_coordinator_fail(
        c, cse_fail_at(&(cse_error){ .status = CSE_TEMPORARY,
                                     .hint = "lower batch_size, micro_batch_size or num_csx, raise "
                                             "the limit, or end other programs, then start again "
                                             "to go on from the last step" },
                       "out of memory: the kernel has killed %d processes of this run%s%s",
                       c->memory.in_window, about[0] != '\0' ? "; " : "", about));
    return true;
}
