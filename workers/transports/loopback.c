/* Control messages inside one process: queues in memory, for tests and as the contract's plainest
 * form.
 *
 * All sockets of the process share one lock and one condition; endpoints are names in a list.
 * Nothing here is fast, as nothing needs to be. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "workers/transports/transport.h"

typedef struct letter {
    struct letter *next;
    char peer[CSE_PEER_BYTES];
    size_t size;
    char bytes[];
} letter;

struct cse_socket {
    struct cse_socket *next; /* in the list of all sockets */
    char *endpoint;
    char peer[CSE_PEER_BYTES]; /* own name; "" of a binder */
    bool bound;
    letter *first, **last;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static cse_socket *sockets;

static void make_condition(void)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* The binder of `endpoint` (peer NULL), or the socket connected to it under that name. */
static cse_socket *find(const char *endpoint, const char *peer)
{
    for (cse_socket *s = sockets; s != NULL; s = s->next)
        if (strcmp(s->endpoint, endpoint) == 0 && s->bound == (peer == NULL) &&
            (peer == NULL || strcmp(s->peer, peer) == 0))
            return s;
    return NULL;
}

static cse_status open_socket(const char *endpoint, const char *peer, cse_socket **socket)
{
    pthread_once(&once, make_condition);
    pthread_mutex_lock(&lock);
    if (find(endpoint, peer) != NULL) {
        pthread_mutex_unlock(&lock);
        return cse_fail(CSE_UNAVAILABLE, "control socket %s: %s%s is there already", endpoint,
                        peer != NULL ? "a peer named " : "a listener", peer != NULL ? peer : "");
    }
    cse_socket *s = cse_calloc(1, sizeof *s);
    s->endpoint = cse_strdup(endpoint);
    s->bound = peer == NULL;
    if (peer != NULL)
        strncpy(s->peer, peer, CSE_PEER_BYTES - 1);
    s->last = &s->first;
    s->next = sockets;
    sockets = s;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    *socket = s;
    return CSE_OK;
}

static cse_status loopback_bind(const char *endpoint, cse_socket **socket)
{
    return open_socket(endpoint, NULL, socket);
}

static cse_status loopback_connect(const char *endpoint, const char *peer, cse_socket **socket)
{
    return open_socket(endpoint, peer, socket);
}

/* Waits for a change until the deadline; false when it has passed. */
static bool wait_until(int64_t deadline_ns)
{
    if (deadline_ns <= cse_clock_ns())
        return false;
    struct timespec until = { deadline_ns / 1000000000, deadline_ns % 1000000000 };
    pthread_cond_timedwait(&changed, &lock, &until);
    return true;
}

static cse_status loopback_send(cse_socket *s, const char *peer, const void *bytes, size_t size,
                                int64_t deadline_ns)
{
    letter *post = cse_malloc(sizeof *post + size);
    post->next = NULL;
    post->size = size;
    memcpy(post->peer, s->peer, sizeof post->peer);
    memcpy(post->bytes, bytes, size);
    pthread_mutex_lock(&lock);
    cse_socket *receiver = find(s->endpoint, s->bound ? peer : NULL);
    while (receiver == NULL && !s->bound && wait_until(deadline_ns))
        receiver = find(s->endpoint, NULL);
    if (receiver != NULL) {
        *receiver->last = post;
        receiver->last = &post->next;
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
    if (receiver != NULL)
        return CSE_OK;
    free(post);
    if (s->bound)
        return cse_fail(CSE_UNAVAILABLE, "control message to %s: no such peer", peer);
    return cse_fail(CSE_TEMPORARY, "control message to the coordinator: not taken by the deadline");
}

static cse_status loopback_receive(cse_socket *s, int64_t deadline_ns, char peer[CSE_PEER_BYTES],
                                   cse_text *bytes, bool *received)
{
    pthread_mutex_lock(&lock);
    while (s->first == NULL && wait_until(deadline_ns))
        continue;
    letter *post = s->first;
    if (post != NULL) {
        s->first = post->next;
        if (s->first == NULL)
            s->last = &s->first;
    }
    pthread_mutex_unlock(&lock);
    *received = post != NULL;
    if (post == NULL)
        return CSE_OK;
    memcpy(peer, post->peer, CSE_PEER_BYTES);
    bytes->size = 0;
    cse_text_add_bytes(bytes, post->bytes, post->size);
    free(post);
    return CSE_OK;
}

static int loopback_descriptor(const cse_socket *s)
{
    (void)s;
    return -1;
}

static void loopback_close(cse_socket **socket)
{
    cse_socket *s = *socket;
    if (s == NULL)
        return;
    pthread_mutex_lock(&lock);
    cse_socket **link = &sockets;
    while (*link != s)
        link = &(*link)->next;
    *link = s->next;
    pthread_mutex_unlock(&lock);
    while (s->first != NULL) {
        letter *post = s->first;
        s->first = post->next;
        free(post);
    }
    free(s->endpoint);
    free(s);
    *socket = NULL;
}

const cse_transport cse_transport_loopback = {
    .name = "loopback",
    .summary = "queues inside one process, for tests",
    .bind = loopback_bind,
    .connect = loopback_connect,
    .send = loopback_send,
    .receive = loopback_receive,
    .descriptor = loopback_descriptor,
    .close = loopback_close,
};
