/* A ring of tasks under one mutex. A task waits for earlier ones only, and tasks are taken in
 * order, so that the oldest one that has not ended can always go on. */
#include "workers/arena/disk_threads.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "workers/arena/arena_file.h"
#include "workers/arena/residency.h"

enum { PLACES = 4096, BLOCK = CSE_RESIDENCY_BLOCK_BYTES };

typedef enum task_kind { FETCH, WRITE, DROP } task_kind;

typedef struct task {
    task_kind kind;
    cse_byte_range range;
    int64_t after;
    bool ended;
} task;

typedef struct disk_threads {
    cse_block_io io; /* first */
    int descriptor;
    unsigned char *base;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    pthread_t threads[CSE_DISK_THREADS];
    int thread_count;
    bool stopping;
    task tasks[PLACES];          /* number n at n % PLACES */
    int64_t ended, taken, begun; /* all up to `ended` have; the newest that was taken, and begun */
    int active;
    int64_t active_from_ns, busy_ns;
    int error; /* the first one, and what could not be done */
    task failed;
} disk_threads;

/* ---- the calls ---- */

/* Block by block: of a longer range the kernel takes only as much as it reads ahead of a file that
 * is read in order. */
static int fetch_range(const disk_threads *d, cse_byte_range range)
{
    for (int64_t at = range.first; at < range.end; at += BLOCK)
        posix_fadvise(d->descriptor, at, range.end - at < BLOCK ? range.end - at : BLOCK,
                      POSIX_FADV_WILLNEED);
    return cse_arena_file_populate(d->base, range.first, range.end - range.first, range.written);
}

static int run(const disk_threads *d, const task *t)
{
    const int64_t bytes = t->range.end - t->range.first;
    if (bytes <= 0)
        return 0;
    if (t->kind == FETCH)
        return fetch_range(d, t->range);
    if (t->kind == DROP)
        return cse_arena_file_let_go(d->descriptor, d->base, t->range.first, bytes,
                                     t->range.written);
    return sync_file_range(d->descriptor, t->range.first, bytes, SYNC_FILE_RANGE_WRITE) != 0 ? errno
                                                                                             : 0;
}

/* ---- the threads ---- */

static bool has_ended(const disk_threads *d, int64_t number)
{
    return number <= d->ended || d->tasks[number % PLACES].ended;
}

static bool may_begin(const disk_threads *d, int64_t number)
{
    const task *t = &d->tasks[number % PLACES];
    for (int64_t n = d->ended + 1; n < number; n++) {
        const bool waits = t->kind == FETCH ? d->tasks[n % PLACES].kind == DROP : n <= t->after;
        if (waits && !has_ended(d, n))
            return false;
    }
    return true;
}

static void note_active(disk_threads *d, int change)
{
    const int64_t now_ns = cse_clock_ns();
    if (d->active > 0)
        d->busy_ns += now_ns - d->active_from_ns;
    d->active_from_ns = now_ns;
    d->active += change;
}

static void end_task(disk_threads *d, int64_t number, int error)
{
    d->tasks[number % PLACES].ended = true;
    if (error != 0 && d->error == 0) {
        d->error = error;
        d->failed = d->tasks[number % PLACES];
    }
    while (d->ended < d->taken && d->tasks[(d->ended + 1) % PLACES].ended)
        d->ended++;
    pthread_cond_broadcast(&d->changed);
}

static void *work(void *self)
{
    disk_threads *d = self;
    pthread_mutex_lock(&d->mutex);
    for (;;) {
        while (d->taken == d->begun && !d->stopping)
            pthread_cond_wait(&d->changed, &d->mutex);
        if (d->taken == d->begun)
            break;
        const int64_t number = ++d->taken;
        while (!may_begin(d, number))
            pthread_cond_wait(&d->changed, &d->mutex);
        const task own = d->tasks[number % PLACES];
        note_active(d, 1);
        pthread_mutex_unlock(&d->mutex);
        const int error = run(d, &own);
        pthread_mutex_lock(&d->mutex);
        note_active(d, -1);
        end_task(d, number, error);
    }
    pthread_mutex_unlock(&d->mutex);
    return NULL;
}

/* ---- the calls of block_io.h ---- */

static int64_t begin(cse_block_io *self, task t)
{
    disk_threads *d = (disk_threads *)self;
    pthread_mutex_lock(&d->mutex);
    while (d->begun - d->ended >= PLACES - 1)
        pthread_cond_wait(&d->changed, &d->mutex);
    const int64_t number = ++d->begun;
    d->tasks[number % PLACES] = t;
    pthread_cond_broadcast(&d->changed);
    pthread_mutex_unlock(&d->mutex);
    return number;
}

static int64_t fetch(cse_block_io *self, cse_byte_range range)
{
    return begin(self, (task){ .kind = FETCH, .range = range });
}

static int64_t begin_write(cse_block_io *self, cse_byte_range range)
{
    return begin(self, (task){ .kind = WRITE, .range = range });
}

static int64_t drop(cse_block_io *self, cse_byte_range range, int64_t after)
{
    return begin(self, (task){ .kind = DROP, .range = range, .after = after });
}

/* With the lock held, which it gives back. */
static cse_status tell_error(disk_threads *d)
{
    const int error = d->error;
    const task failed = d->failed;
    pthread_mutex_unlock(&d->mutex);
    if (error == 0)
        return CSE_OK;
    return cse_fail(CSE_IO,
                    "states.directory: bytes %lld to %lld of the file of states cannot be %s: %s; "
                    "the run goes on from its last checkpoint once the disk is whole",
                    (long long)failed.range.first, (long long)failed.range.end,
                    failed.kind == FETCH ? "read" : "written", strerror(error));
}

static cse_status await(cse_block_io *self, int64_t number)
{
    disk_threads *d = (disk_threads *)self;
    pthread_mutex_lock(&d->mutex);
    while (!has_ended(d, number))
        pthread_cond_wait(&d->changed, &d->mutex);
    return tell_error(d);
}

static cse_status finish(cse_block_io *self)
{
    disk_threads *d = (disk_threads *)self;
    pthread_mutex_lock(&d->mutex);
    while (d->ended < d->begun)
        pthread_cond_wait(&d->changed, &d->mutex);
    return tell_error(d);
}

static int64_t now_ns(cse_block_io *self)
{
    (void)self;
    return cse_clock_ns();
}

static int64_t busy_ns(cse_block_io *self)
{
    disk_threads *d = (disk_threads *)self;
    pthread_mutex_lock(&d->mutex);
    note_active(d, 0);
    const int64_t busy = d->busy_ns;
    pthread_mutex_unlock(&d->mutex);
    return busy;
}

static void destroy(cse_block_io *self)
{
    disk_threads *d = (disk_threads *)self;
    pthread_mutex_lock(&d->mutex);
    d->stopping = true;
    pthread_cond_broadcast(&d->changed);
    pthread_mutex_unlock(&d->mutex);
    for (int t = 0; t < d->thread_count; t++)
        pthread_join(d->threads[t], NULL);
    pthread_cond_destroy(&d->changed);
    pthread_mutex_destroy(&d->mutex);
    free(d);
}

/* Signals are the business of the thread that computes. */
static int start_threads(disk_threads *d)
{
    sigset_t all, before;
    int error = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (; d->thread_count < CSE_DISK_THREADS && error == 0; d->thread_count += error == 0)
        error = pthread_create(&d->threads[d->thread_count], NULL, work, d);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return d->thread_count > 0 ? 0 : error;
}

cse_status cse_disk_threads_new(int descriptor, unsigned char *base, cse_block_io **io)
{
    disk_threads *d = cse_calloc(1, sizeof *d);
    d->io = (cse_block_io){ .fetch = fetch,
                            .write = begin_write,
                            .drop = drop,
                            .await = await,
                            .finish = finish,
                            .now_ns = now_ns,
                            .busy_ns = busy_ns,
                            .destroy = destroy };
    d->descriptor = descriptor;
    d->base = base;
    pthread_mutex_init(&d->mutex, NULL);
    pthread_cond_init(&d->changed, NULL);
    const int error = start_threads(d);
    *io = &d->io;
    if (error == 0)
        return CSE_OK;
    destroy(&d->io);
    *io = NULL;
    return cse_fail(CSE_TEMPORARY, "states: no thread can be started that reads ahead: %s",
                    strerror(error));
}
