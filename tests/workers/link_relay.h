/* What stands between two hosts in a test: it forwards the bytes of TCP connections, keeps those of
 * the first one, and changes them as the test says. */
#ifndef CSE_TESTS_WORKERS_LINK_RELAY_H
#define CSE_TESTS_WORKERS_LINK_RELAY_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/workers/link_stage.h"

enum { RELAY_PAIRS = 8, TO_SERVER = 0, TO_CLIENT = 1 };

typedef enum relay_edit_kind {
    RELAY_NOTHING,
    RELAY_FLIP,   /* bits of one byte */
    RELAY_CUT,    /* the connection ends before that byte */
    RELAY_DROP,   /* some bytes are left out */
    RELAY_REPEAT, /* some bytes come twice */
    RELAY_STALL,  /* nothing more is forwarded, but the connection stays */
} relay_edit_kind;

/* At byte `at` of a direction. */
typedef struct relay_edit {
    relay_edit_kind kind;
    int direction;
    size_t at, length;
} relay_edit;

typedef struct relay_pair {
    int sockets[2]; /* of the server, of the client; -1: none */
    size_t passed[2];
    bool stalled[2];
    relay_edit edit;
    cse_text kept[2];
} relay_pair;

typedef struct relay {
    int listener;
    char address[CSE_HOST_LINK_ADDRESS_BYTES];
    struct sockaddr_in target;
    pthread_t thread;
    atomic_bool stop;
    atomic_bool calms; /* all connections end; those that follow are left as they are */
    atomic_int connections;
    relay_edit (*edit_of)(const struct relay *relay, int connection);
    uint64_t seed;
    bool calm;
    relay_edit first; /* for the first connection, where edit_of is NULL */
    relay_pair pairs[RELAY_PAIRS];
    cse_text kept[2]; /* of the first connection, by direction */
} relay;

/* Where it stands in the registry. */
static inline int tcp_link(void)
{
    int i = 0;
    while (strcmp(cse_host_links[i]->name, "tcp") != 0)
        i++;
    return i;
}

static inline int test_listen(struct sockaddr_in *address)
{
    socklen_t size = sizeof *address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    *address =
        (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    ck_assert_int_eq(bind(listener, (struct sockaddr *)address, size), 0);
    ck_assert_int_eq(listen(listener, 64), 0);
    getsockname(listener, (struct sockaddr *)address, &size);
    return listener;
}

static inline struct sockaddr_in test_address(const char *text)
{
    return (struct sockaddr_in){ .sin_family = AF_INET,
                                 .sin_port = htons((uint16_t)atoi(strrchr(text, ':') + 1)),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static inline int test_connect(const struct sockaddr_in *address)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    if (connect(fd, (const struct sockaddr *)address, sizeof *address) != 0) {
        close(fd);
        return -1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

static inline void relay_end_pair(relay_pair *pair)
{
    for (int side = 0; side < 2; side++) {
        if (pair->sockets[side] >= 0)
            close(pair->sockets[side]);
        pair->sockets[side] = -1;
        cse_text_clear(&pair->kept[side]);
    }
}

static inline void relay_forward(relay_pair *pair, int direction, const char *bytes, size_t size)
{
    while (size > 0 && !pair->stalled[direction]) {
        ssize_t sent = send(pair->sockets[direction], bytes, size, MSG_NOSIGNAL);
        if (sent <= 0)
            return;
        bytes += sent;
        size -= (size_t)sent;
    }
}

/* Bytes of a direction, changed where the edit says; false: the connection ends. */
static inline bool relay_pass(relay_pair *pair, int direction, char *bytes, size_t size)
{
    const relay_edit *e = &pair->edit;
    size_t begin = pair->passed[direction], end = begin + size;
    cse_text *kept = &pair->kept[direction];
    pair->passed[direction] = end;
    if (e->kind == RELAY_NOTHING || e->direction != direction || end <= e->at) {
        if (e->kind == RELAY_REPEAT)
            cse_text_add_bytes(kept, bytes, size);
        relay_forward(pair, direction, bytes, size);
        return true;
    }
    size_t place = e->at > begin ? e->at - begin : 0;
    if (e->kind == RELAY_FLIP && e->at >= begin)
        bytes[place] ^= (char)(1 << e->at % 8);
    if (e->kind == RELAY_CUT || e->kind == RELAY_STALL) {
        relay_forward(pair, direction, bytes, place);
        pair->stalled[direction] = true;
        return e->kind == RELAY_STALL;
    }
    if (e->kind == RELAY_DROP) {
        relay_forward(pair, direction, bytes, place);
        place = e->at + e->length > begin ? e->at + e->length - begin : 0;
        if (place < size)
            relay_forward(pair, direction, bytes + place, size - place);
        return true;
    }
    if (e->kind == RELAY_REPEAT && begin < e->at + e->length && end >= e->at + e->length) {
        cse_text_add_bytes(kept, bytes, size);
        place = e->at + e->length - begin;
        relay_forward(pair, direction, bytes, place);
        relay_forward(pair, direction, kept->data + e->at, e->length);
        relay_forward(pair, direction, bytes + place, size - place);
        return true;
    }
    if (e->kind == RELAY_REPEAT)
        cse_text_add_bytes(kept, bytes, size);
    relay_forward(pair, direction, bytes, size);
    return true;
}

static inline void relay_accept(relay *r)
{
    int client = accept4(r->listener, NULL, NULL, SOCK_CLOEXEC);
    relay_pair *pair = r->pairs;
    if (client < 0)
        return;
    while (pair < r->pairs + RELAY_PAIRS - 1 && pair->sockets[0] >= 0)
        pair++;
    relay_end_pair(pair);
    int server = test_connect(&r->target), number = atomic_fetch_add(&r->connections, 1), on = 1;
    if (server < 0) {
        close(client);
        return;
    }
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    *pair = (relay_pair){ .sockets = { server, client } };
    if (r->calm)
        return;
    if (r->edit_of != NULL)
        pair->edit = r->edit_of(r, number);
    else if (number == 0)
        pair->edit = r->first;
}

static inline void relay_serve(relay *r, relay_pair *pair, int from)
{
    char bytes[65536];
    ssize_t got = recv(pair->sockets[from], bytes, sizeof bytes, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    int direction = from == 0 ? TO_CLIENT : TO_SERVER;
    if (got > 0 && pair == r->pairs && atomic_load(&r->connections) == 1)
        cse_text_add_bytes(&r->kept[direction], bytes, (size_t)got);
    if (got <= 0 || !relay_pass(pair, direction, bytes, (size_t)got))
        relay_end_pair(pair);
}

static inline void *relay_run(void *self)
{
    relay *r = self;
    while (!atomic_load(&r->stop)) {
        for (int i = 0; i < RELAY_PAIRS && !r->calm && atomic_load(&r->calms); i++)
            relay_end_pair(&r->pairs[i]);
        r->calm = atomic_load(&r->calms);
        struct pollfd polled[1 + 2 * RELAY_PAIRS];
        polled[0] = (struct pollfd){ .fd = r->listener, .events = POLLIN };
        for (int i = 0; i < 2 * RELAY_PAIRS; i++)
            polled[1 + i] =
                (struct pollfd){ .fd = r->pairs[i / 2].sockets[i % 2], .events = POLLIN };
        if (poll(polled, 1 + 2 * RELAY_PAIRS, 20) <= 0)
            continue;
        for (int i = 0; i < 2 * RELAY_PAIRS; i++)
            if (polled[1 + i].revents != 0 && r->pairs[i / 2].sockets[i % 2] >= 0)
                relay_serve(r, &r->pairs[i / 2], i % 2);
        if (polled[0].revents != 0)
            relay_accept(r);
    }
    return NULL;
}

/* Before host 0 of the stage is called; its address becomes that of the relay. `r` is zeroed but
 * for what is to be changed. */
static inline void relay_begin(relay *r, stage *s)
{
    struct sockaddr_in own;
    r->target = test_address(s->hosts[0].address);
    r->listener = test_listen(&own);
    snprintf(r->address, sizeof r->address, "127.0.0.1:%d", ntohs(own.sin_port));
    s->instead = r->address;
    for (int i = 0; i < 2 * RELAY_PAIRS; i++)
        r->pairs[i / 2].sockets[i % 2] = -1;
    ck_assert_int_eq(pthread_create(&r->thread, NULL, relay_run, r), 0);
}

/* What it kept stays; relay_forget drops it. */
static inline void relay_end(relay *r)
{
    atomic_store(&r->stop, true);
    pthread_join(r->thread, NULL);
    for (int i = 0; i < RELAY_PAIRS; i++)
        relay_end_pair(&r->pairs[i]);
    close(r->listener);
}

static inline void relay_forget(relay *r)
{
    cse_text_clear(&r->kept[0]);
    cse_text_clear(&r->kept[1]);
}

#endif
