/* A list of connections under one lock, a thread that checks their deadlines once a second, and
 * token buckets by address. The socket of a listed connection is open: it leaves the list before
 * the library closes it. */
#include "dashboard/access/guard.h"

#include <assert.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"

#define SECOND INT64_C(1000000000)

enum { BUCKETS = 1024, ADDRESS_TEXT = 48, ADDRESS_BYTES = 17 };

struct cse_guarded {
    cse_guarded *next, *previous;
    int socket;
    unsigned char address[ADDRESS_BYTES];
    int64_t until_ns, since_ns; /* 0: does not wait for its client; since when it does */
    bool known, dropped;
};

typedef struct bucket {
    char address[ADDRESS_TEXT];
    double tokens;
    int64_t at_ns;
} bucket;

struct cse_guard {
    cse_guard_options options;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool ending;
    pthread_t thread;
    cse_guarded list;        /* head of a ring */
    int count, ending_count; /* listed; of them shut down, and not closed yet */
    int64_t dropped;
    bucket buckets[BUCKETS];
};

static void drop(cse_guard *guard, cse_guarded *g)
{
    shutdown(g->socket, SHUT_RDWR);
    g->until_ns = 0;
    g->dropped = true;
    guard->ending_count++;
    guard->dropped++;
}

static void drop_overdue(cse_guard *guard)
{
    int64_t now_ns = cse_clock_ns();
    for (cse_guarded *g = guard->list.next; g != &guard->list; g = g->next)
        if (g->until_ns != 0 && now_ns > g->until_ns)
            drop(guard, g);
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

/* Who is at the other end: an IPv4 address, the first half of an IPv6 one, which a client has for
 * itself, or the family alone. */
static void note_address(cse_guarded *g)
{
    struct sockaddr_storage peer = { .ss_family = AF_UNSPEC };
    socklen_t size = sizeof peer;
    if (getpeername(g->socket, (struct sockaddr *)&peer, &size) != 0)
        return;
    g->address[0] = (unsigned char)peer.ss_family;
    if (peer.ss_family == AF_INET)
        memcpy(g->address + 1, &((const struct sockaddr_in *)(const void *)&peer)->sin_addr, 4);
    else if (peer.ss_family == AF_INET6)
        memcpy(g->address + 1, &((const struct sockaddr_in6 *)(const void *)&peer)->sin6_addr, 8);
}

static cse_guarded *rather(cse_guarded *one, cse_guarded *other)
{
    if (one == NULL || other == NULL)
        return one == NULL ? other : one;
    if (one->known != other->known)
        return one->known ? other : one;
    return one->since_ns <= other->since_ns ? one : other;
}

/* Makes room for the connection that has come. */
static void make_room(cse_guard *guard, const cse_guarded *newest)
{
    int same = 0;
    cse_guarded *of_same = NULL, *of_all = NULL;
    for (cse_guarded *g = guard->list.next; g != &guard->list; g = g->next) {
        if (g == newest || g->until_ns == 0 || g->dropped)
            continue;
        of_all = rather(g, of_all);
        if (memcmp(g->address, newest->address, ADDRESS_BYTES) == 0) {
            of_same = rather(g, of_same);
            same++;
        }
    }
    if (guard->options.most_waiting > 0 && same >= guard->options.most_waiting)
        drop(guard, of_same);
    else if (guard->options.most_open > 0 && of_all != NULL &&
             guard->count - guard->ending_count > guard->options.most_open)
        drop(guard, of_all);
}

cse_guarded *cse_guard_add(cse_guard *guard, int socket)
{
    cse_guarded *g = cse_calloc(1, sizeof *g);
    g->socket = socket;
    note_address(g);
    pthread_mutex_lock(&guard->lock);
    g->next = &guard->list;
    g->previous = guard->list.previous;
    g->next->previous = g->previous->next = g;
    guard->count++;
    make_room(guard, g);
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
    guard->ending_count -= (*guarded)->dropped;
    pthread_mutex_unlock(&guard->lock);
    free(*guarded);
    *guarded = NULL;
}

void cse_guard_expect(cse_guard *guard, cse_guarded *guarded, int64_t limit_ns)
{
    if (guarded == NULL)
        return;
    pthread_mutex_lock(&guard->lock);
    guarded->since_ns = cse_clock_ns();
    guarded->until_ns = limit_ns == 0 || guarded->dropped ? 0 : guarded->since_ns + limit_ns;
    pthread_mutex_unlock(&guard->lock);
}

void cse_guard_know(cse_guard *guard, cse_guarded *guarded)
{
    if (guarded == NULL)
        return;
    pthread_mutex_lock(&guard->lock);
    guarded->known = true;
    pthread_mutex_unlock(&guard->lock);
}

/* The address's bucket, or the least recently used of a few. */
static bucket *find_bucket(cse_guard *guard, const char address[ADDRESS_TEXT], int64_t now_ns)
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
    memcpy(oldest->address, address, ADDRESS_TEXT);
    oldest->tokens = guard->options.burst;
    oldest->at_ns = now_ns;
    return oldest;
}

bool cse_guard_admits(cse_guard *guard, const char *address, double *wait_seconds)
{
    double rate = guard->options.requests_per_second;
    if (rate <= 0)
        return true;
    char key[ADDRESS_TEXT] = { 0 };
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
