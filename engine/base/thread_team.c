/* A call opens a gate and raises `calls`, for which members wait. A member that comes in counts in
 * the gate until it finds no more work; the caller shuts the gate when it finds none itself, and
 * waits for those that are inside alone: one that sleeps, or that has no processor, is not missed.
 * Who sleeps says so before it looks at the word again, and who changes the word looks for sleepers
 * behind that, so that nobody is left asleep. */
#include "engine/base/thread_team.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/float_mode.h"
#include "engine/base/log.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* Looks at a word before a thread sleeps: some tens of microseconds. Pieces that a member is to
 * take: few enough that handing them out costs nothing, and more than one, so that a member that
 * comes late leaves the others little to wait for. */
enum { LOOKS = 1500, PIECES = 4, LINE_BYTES = 64 };

static const uint32_t OPEN = 1u << 31;

typedef struct member {
    cse_thread_team *team;
    int number;
    pthread_t thread;
    void *scratch;
    size_t scratch_bytes;
} member;

struct cse_thread_team {
    int size;
    member *members;
    const cse_team_job *job;
    int64_t piece;
    cse_float_mode float_mode; /* the caller's */
    atomic_bool ends;
    _Alignas(LINE_BYTES) _Atomic uint32_t calls;
    _Atomic uint32_t sleepers;
    _Alignas(LINE_BYTES) _Atomic uint32_t gate; /* OPEN, and the members inside */
    _Atomic uint32_t caller_sleeps;
    _Alignas(LINE_BYTES) _Atomic int64_t next; /* the first item that nobody has taken */
};

/* ---- waiting ---- */

static void sleep_while(_Atomic uint32_t *word, uint32_t value)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void pause_briefly(void)
{
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Whether the word is another one within the time of spinning. */
static bool changes_soon(_Atomic uint32_t *word, uint32_t value)
{
    for (int i = 0; i < LOOKS; i++) {
        if (atomic_load_explicit(word, memory_order_acquire) != value)
            return true;
        pause_briefly();
    }
    return false;
}

/* ---- work ---- */

static void work(cse_thread_team *team, int number)
{
    const cse_team_job *job = team->job;
    for (;;) {
        const int64_t first = atomic_fetch_add(&team->next, team->piece);
        if (first >= job->count)
            return;
        const int64_t left = job->count - first;
        job->work(job->self, number, first, first + (left < team->piece ? left : team->piece));
    }
}

static void wait_for_call(cse_thread_team *team, uint32_t seen)
{
    if (changes_soon(&team->calls, seen))
        return;
    atomic_fetch_add(&team->sleepers, 1);
    while (atomic_load(&team->calls) == seen)
        sleep_while(&team->calls, seen);
    atomic_fetch_sub(&team->sleepers, 1);
}

/* The call that is under way, if the gate is open. */
static void take_part(cse_thread_team *team, int number)
{
    uint32_t gate = atomic_load(&team->gate);
    do {
        if ((gate & OPEN) == 0)
            return;
    } while (!atomic_compare_exchange_weak(&team->gate, &gate, gate + 1));
    cse_float_mode_restore(team->float_mode);
    work(team, number);
    if (atomic_fetch_sub(&team->gate, 1) == 1 && atomic_load(&team->caller_sleeps) != 0)
        wake(&team->gate);
}

static void *serve(void *self)
{
    member *m = self;
    cse_thread_team *team = m->team;
    for (uint32_t seen = 0;;) {
        wait_for_call(team, seen);
        seen = atomic_load(&team->calls);
        if (atomic_load(&team->ends))
            return NULL;
        take_part(team, m->number);
    }
}

static void wait_for_members(cse_thread_team *team)
{
    for (int i = 0; i < LOOKS; i++) {
        if (atomic_load_explicit(&team->gate, memory_order_acquire) == 0)
            return;
        pause_briefly();
    }
    atomic_store(&team->caller_sleeps, 1);
    for (uint32_t gate; (gate = atomic_load(&team->gate)) != 0;)
        sleep_while(&team->gate, gate);
    atomic_store(&team->caller_sleeps, 0);
}

static void call_members(cse_thread_team *team)
{
    atomic_fetch_add(&team->calls, 1);
    if (atomic_load(&team->sleepers) != 0)
        wake(&team->calls);
}

void cse_thread_team_divide(cse_thread_team *team, const cse_team_job *job)
{
    if (team == NULL || job->count <= job->unit) {
        if (job->count > 0)
            job->work(job->self, 0, 0, job->count);
        return;
    }
    const int64_t units = (job->count + job->unit - 1) / job->unit;
    const int64_t together = units / ((int64_t)team->size * PIECES);
    team->job = job;
    team->piece = (together > 1 ? together : 1) * job->unit;
    team->float_mode = cse_float_mode_of_thread();
    atomic_store(&team->next, 0);
    atomic_store(&team->gate, OPEN);
    call_members(team);
    work(team, 0);
    atomic_fetch_and(&team->gate, ~OPEN);
    wait_for_members(team);
}

/* ---- begin and end ---- */

/* Signals are for the threads that the process had before. */
static void start(cse_thread_team *team, int threads)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (; team->size < threads; team->size++) {
        member *m = &team->members[team->size];
        *m = (member){ .team = team, .number = team->size };
        if (pthread_create(&m->thread, NULL, serve, m) != 0)
            break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (team->size < threads)
        cse_log_line(CSE_LOG_WARNING,
                     "the system started %d of %d threads: what runs on them takes longer",
                     team->size, threads);
}

cse_thread_team *cse_thread_team_new(int threads)
{
    if (threads <= 1)
        return NULL;
    cse_thread_team *team = cse_aligned_calloc(sizeof *team);
    team->members = cse_calloc((size_t)threads, sizeof *team->members);
    team->size = 1;
    start(team, threads);
    return team;
}

void cse_thread_team_destroy(cse_thread_team **team)
{
    cse_thread_team *old = *team;
    *team = NULL;
    if (old == NULL)
        return;
    atomic_store(&old->ends, true);
    call_members(old);
    for (int i = 0; i < old->size; i++) {
        if (i > 0)
            pthread_join(old->members[i].thread, NULL);
        free(old->members[i].scratch);
    }
    free(old->members);
    free(old);
}

int cse_thread_team_size(const cse_thread_team *team)
{
    return team != NULL ? team->size : 1;
}

void *cse_thread_team_scratch(cse_thread_team *team, int number, size_t bytes)
{
    member *m = &team->members[number];
    if (bytes > m->scratch_bytes) {
        free(m->scratch);
        m->scratch = cse_aligned_calloc(bytes);
        m->scratch_bytes = bytes;
    }
    return m->scratch;
}
