/* A shared page of atomic words. */
#include "run/saving/takeover.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/base/process_number.h"
#include "workers/arena/kept_arena.h"
#include "workers/control/supervisor.h"

struct cse_takeover {
    pid_t first_process;
    int64_t first_number; /* its number, as others know it */
    int count, futile;    /* takeovers so far, and in a row without a step; of the first process */
    int64_t steps_before; /* when the last one began */
    _Atomic int64_t steps;
    atomic_bool paused, ending, accepted, decided, over;
    int64_t first_step, last_step; /* once it is decided */
    atomic_int newest;             /* checkpoints[newest - 1]; 0: none */
    char checkpoints[2][PATH_MAX];
    cse_kept_arena arena;
};

cse_takeover *cse_takeover_new(void)
{
    cse_takeover *takeover =
        mmap(NULL, sizeof *takeover, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (takeover == MAP_FAILED)
        return NULL;
    takeover->first_process = getpid(); /* the rest is zeros */
    takeover->first_number = cse_process_number();
    cse_kept_arena_open(&takeover->arena);
    return takeover;
}

void cse_takeover_destroy(cse_takeover **takeover)
{
    if (*takeover != NULL) {
        cse_kept_arena_close(&(*takeover)->arena);
        munmap(*takeover, sizeof **takeover);
    }
    *takeover = NULL;
}

bool cse_takeover_begin(cse_takeover *t)
{
    if (t == NULL || atomic_load(&t->ending))
        return false;
    const int64_t steps = atomic_load(&t->steps);
    t->futile = steps > t->steps_before ? 0 : t->futile + 1;
    t->steps_before = steps > t->steps_before ? steps : t->steps_before;
    t->count++;
    return t->futile <= CSE_MOST_TAKEOVERS;
}

cse_succession cse_takeover_succession(const cse_takeover *t)
{
    return t != NULL
               ? (cse_succession){ .takes_over = t->count > 0, .first_process = t->first_number }
               : (cse_succession){ .takes_over = false };
}

int cse_takeover_count(const cse_takeover *t)
{
    return t != NULL ? t->count : 0;
}

const char *cse_takeover_checkpoint(const cse_takeover *t)
{
    const int newest = t != NULL ? atomic_load(&t->newest) : 0;
    return newest > 0 ? t->checkpoints[newest - 1] : NULL;
}

struct cse_kept_arena *cse_takeover_arena(cse_takeover *t)
{
    return t != NULL && t->arena.sockets[0][0] >= 0 && t->arena.sockets[1][0] >= 0 ? &t->arena
                                                                                   : NULL;
}

bool cse_takeover_is_left_alone(const cse_takeover *t)
{
    return t != NULL && (getppid() != t->first_process || cse_supervisor_outside_is_gone());
}

bool cse_takeover_is_paused(const cse_takeover *t)
{
    return t != NULL && atomic_load(&t->paused);
}

void cse_takeover_hand_on(cse_takeover *t)
{
    if (t == NULL)
        return;
    cse_kept_arena_drop(&t->arena);
    t->count++;
    atomic_store(&t->ending, false);
}

void cse_takeover_note_checkpoint(cse_takeover *t, const char *path)
{
    if (t == NULL)
        return;
    const int next = atomic_load(&t->newest) == 1 ? 2 : 1;
    snprintf(t->checkpoints[next - 1], PATH_MAX, "%s", path);
    atomic_store(&t->newest, next);
}

bool cse_takeover_target(const cse_takeover *t, int64_t *first_step, int64_t *last_step)
{
    if (t == NULL || !atomic_load(&t->decided))
        return false;
    *first_step = t->first_step;
    *last_step = t->last_step;
    return true;
}

void cse_takeover_note_target(cse_takeover *t, int64_t first_step, int64_t last_step)
{
    if (t == NULL || atomic_load(&t->decided))
        return;
    t->first_step = first_step;
    t->last_step = last_step;
    atomic_store(&t->decided, true);
}

void cse_takeover_note_over(cse_takeover *t)
{
    if (t != NULL)
        atomic_store(&t->over, true);
}

bool cse_takeover_is_over(const cse_takeover *t)
{
    return t != NULL && atomic_load(&t->over);
}

bool cse_takeover_note_accepted(cse_takeover *t)
{
    return t == NULL || !atomic_exchange(&t->accepted, true);
}

static void on_step(void *self, const cse_record *record)
{
    cse_takeover *t = self;
    if (record->steps_done > atomic_load_explicit(&t->steps, memory_order_relaxed))
        atomic_store_explicit(&t->steps, record->steps_done, memory_order_relaxed);
}

static void on_phase(void *self, cse_phase phase, const char *message)
{
    cse_takeover *t = self;
    (void)message;
    if (phase == CSE_PHASE_CANCELLING)
        atomic_store(&t->ending, true);
    if (phase == CSE_PHASE_RUNNING || phase == CSE_PHASE_PAUSING || phase == CSE_PHASE_PAUSED)
        atomic_store(&t->paused, phase != CSE_PHASE_RUNNING);
}

void cse_takeover_observe(cse_takeover *t, cse_session_observer *own, cse_session_observer *before)
{
    if (t == NULL)
        return;
    *own = (cse_session_observer){ .self = t,
                                   .on_step = on_step,
                                   .events = { .self = t, .on_phase = on_phase } };
    before->next = own;
    before->events.next = &own->events;
}
