/* A list of connections under one lock, a thread that checks their deadlines once a second, and
 * token buckets by address. The socket of a listed connection is open: it leaves the list before
 * the library closes it. */
#include "dashboard/guard.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"

#define SECOND INT64_C(1000000000)

enum { BUCKETS = 1024, ADDRESS_BYTES = 48 };

struct cse_guarded {
    cse_guarded *next, *previous;
    int socket;
    int64_t until_ns; /* 0: no limit */
};

typedef struct bucket {
    char address[ADDRESS_BYTES];
    double tokens;
    int64_t at_ns;
} bucket;

struct cse_guard {
    cse_guard_options options;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool ending;
    pthread_t thread;
    cse_guarded list; /* head of a ring */
    int count;
    int64_t dropped;
    bucket buckets[BUCKETS];
};

static void drop_overdue(cse_guard *guard)
{
    int64_t now_ns = cse_clock_ns();
    for (cse_guarded *g = guard->list.next; g != &guard->list; g = g->next)
        if (g->until_ns != 0 && now_ns > g->until_ns) {
            shutdown(g->socket, SHUT_RDWR);
            g->until_ns = 0;
            guard->dropped++;
        }
}

static void *run_guard(void *self)
{
    cse_guard *guard = self;
    pthread_mutex_lock(&guard->lock);
    while (!guard->ending) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += 1;
        pthread_cond_timedwait(&guard->ended, &guard->lock, &until);
        drop_overdue(guard);
    }
    pthread_mutex_unlock(&guard->lock);
    return NULL;
}

cse_guard *cse_guard_new(const cse_guard_options *options)
{
    cse_guard *guard = cse_calloc(1, sizeof *guard);
    guard->options = *options;
    guard->list.next = guard->list.previous = &guard->list;
    pthread_mutex_init(&guard->lock, NULL);
    pthread_cond_init(&guard->ended, NULL);
    pthread_create(&guard->thread, NULL, run_guard, guard);
    return guard;
}

void cse_guard_destroy(cse_guard **guard)
{
    if (*guard == NULL)
        return;
    pthread_mutex_lock(&(*guard)->lock);
    (*guard)->ending = true;
    pthread_cond_signal(&(*guard)->ended);
    pthread_mutex_unlock(&(*guard)->lock);
    pthread_join((*guard)->thread, NULL);
    pthread_mutex_destroy(&(*guard)->lock);
    pthread_cond_destroy(&(*guard)->ended);
    free(*guard);
    *guard = NULL;
}

cse_guarded *cse_guard_add(cse_guard *guard, int socket)
{
    cse_guarded *g = cse_calloc(1, sizeof *g);
    g->socket = socket;
    pthread_mutex_lock(&guard->lock);
    g->next = &guard->list;
    g->previous = guard->list.previous;
    g->next->previous = g->previous->next = g;
    guard->count++;
    pthread_mutex_unlock(&guard->lock);
    return g;
}

void cse_guard_remove(cse_guard *guard, cse_guarded **guarded)
{
    if (*guarded == NULL)
        return;
    pthread_mutex_lock(&guard->lock);
    assert(guard->count > 0);
    (*guarded)->next->previous = (*guarded)->previous;
    (*guarded)->previous->next = (*guarded)->next;
    guard->count--;
    pthread_mutex_unlock(&guard->lock);
    free(*guarded);
    *guarded = NULL;
}

void cse_guard_expect(cse_guard *guard, cse_guarded *guarded, int64_t limit_ns)
{
    if (guarded == NULL)
        return;
    pthread_mutex_lock(&guard->lock);
    guarded->until_ns = limit_ns == 0 ? 0 : cse_clock_ns() + limit_ns;
    pthread_mutex_unlock(&guard->lock);
}

/* The address's bucket, or the least recently used of a few. */
static bucket *find_bucket(cse_guard *guard, const char address[ADDRESS_BYTES], int64_t now_ns)
{
    uint32_t hash = 2166136261u;
    for (const char *c = address; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    bucket *oldest = NULL;
    for (uint32_t i = 0; i < 8; i++) {
        bucket *b = &guard->buckets[(hash + i) % BUCKETS];
        if (strcmp(b->address, address) == 0)
            return b;
        if (oldest == NULL || b->at_ns < oldest->at_ns)
            oldest = b;
    }
    memcpy(oldest->address, address, ADDRESS_BYTES);
    oldest->tokens = guard->options.burst;
    oldest->at_ns = now_ns;
    return oldest;
}

bool cse_guard_admits(cse_guard *guard, const char *address, double *wait_seconds)
{
    double rate = guard->options.requests_per_second;
    if (rate <= 0)
        return true;
    char key[ADDRESS_BYTES] = { 0 };
    snprintf(key, sizeof key, "%s", address);
    int64_t now_ns = cse_clock_ns();
    pthread_mutex_lock(&guard->lock);
    bucket *b = find_bucket(guard, key, now_ns);
    b->tokens += (double)(now_ns - b->at_ns) / (double)SECOND * rate;
    if (b->tokens > guard->options.burst)
        b->tokens = guard->options.burst;
    b->at_ns = now_ns;
    bool admitted = b->tokens >= 1;
    if (admitted)
        b->tokens -= 1;
    else
        *wait_seconds = (1 - b->tokens) / rate;
    pthread_mutex_unlock(&guard->lock);
    return admitted;
}

int cse_guard_count(cse_guard *guard)
{
    pthread_mutex_lock(&guard->lock);
    int count = guard->count;
    pthread_mutex_unlock(&guard->lock);
    return count;
}

int64_t cse_guard_dropped(cse_guard *guard)
{
    pthread_mutex_lock(&guard->lock);
    int64_t dropped = guard->dropped;
    pthread_mutex_unlock(&guard->lock);
    return dropped;
}
