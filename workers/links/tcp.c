/* A full mesh of TCP connections, served by one thread with poll(2).
 *
 * A host connects to all hosts with lower numbers and is connected to by the others, so that there
 * is one connection for a pair. What ended is connected again, first after 5 ms, at last every
 * 500 ms. Who connects is a stranger until its handshake is over: strangers have few places, little
 * time, and a few hundred bytes each, and wait in the kernel's queue where all places are taken; so
 * many of them slow down a host that connects, but do not keep it out. A connection that proves to
 * be a host's replaces the one that there was: it is the other side that knows that the old one is
 * dead.
 *
 * What the caller was told of a host is compared with its connection: the difference is the next
 * event. */
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "workers/links/host_address.h"
#include "workers/links/link.h"
#include "workers/links/tcp_connection.h"

enum {
    STRANGERS = 32,
    DESCRIPTORS = CSE_MAX_HOSTS + STRANGERS + 2,
    FRAMES_BETWEEN_LOOKS = 64, /* at sockets, while frames are there already */
    BYTES_BETWEEN_LOOKS = 256 << 10,
    MOST_READS = 64, /* in one turn of closing */
};
#define MS INT64_C(1000000)
#define FIRST_DELAY_NS (5 * MS)
#define LAST_DELAY_NS (500 * MS)
#define STEADY_NS (1000 * MS)   /* a connection that lasted so long begins with FIRST_DELAY_NS */
#define GREETING_NS (5000 * MS) /* of a whole handshake */
#define YIELDING_NS (250 * MS)  /* a stranger of this age makes room for another one */
#define LOOKUP_NS (5 * MS)      /* between looks at a lookup */
#define ALIVE_NS (1000 * MS)    /* between looks at connections that are silent */
#define NO_DESCRIPTOR_NS (100 * MS)
#define LOG_NS (10000 * MS)
#define CLOSING_NS (1000 * MS)
#define NEVER INT64_MAX

typedef struct peer {
    bool linked, calls; /* it is called by us */
    bool held;
    cse_host_address address;
    cse_socket_addresses addresses;
    bool numeric; /* addresses are known without a lookup */
    cse_address_lookup *lookup;
    int next_address;
    int64_t delay_ns, due_ns;       /* of the next call */
    cse_tcp_connection *call;       /* in its handshake */
    cse_tcp_connection *connection; /* open */
    uint64_t told;                  /* number of the connection that the caller was told of, or 0 */
    cse_host_link_counts counts;
} peer;

struct cse_host_link_state {
    cse_handshake_side side;
    peer peers[CSE_MAX_HOSTS];
    cse_tcp_connection *strangers[STRANGERS];
    int wake, listener;
    int64_t listens_ns; /* not before */
    char address[CSE_HOST_LINK_ADDRESS_BYTES];
    uint64_t numbers; /* of connections */
    int turn;         /* the host whose frames are looked at first */
    int frames_since_look;
    size_t bytes_since_look;
    int64_t logged_ns;
    int64_t not_logged;
    struct pollfd polled[DESCRIPTORS];
    cse_tcp_connection **polled_of[DESCRIPTORS]; /* NULL: the listener or `wake` */
    int polled_count;
};

/* Anybody can cause these lines: so there is one in ten seconds. */
static void log_refusal(cse_host_link_state *s, cse_log_level level, const char *who)
{
    int64_t now = cse_clock_ns();
    if (s->logged_ns != 0 && now - s->logged_ns < LOG_NS) {
        s->not_logged++;
        return;
    }
    if (s->not_logged > 0)
        cse_log_line(level, "%s was refused: %s (and %lld more since the last such line)", who,
                     cse_error_message(), (long long)s->not_logged);
    else
        cse_log_line(level, "%s was refused: %s", who, cse_error_message());
    s->logged_ns = now;
    s->not_logged = 0;
}

static void back_off(peer *p, int64_t now_ns)
{
    if (p->delay_ns == 0)
        p->delay_ns = FIRST_DELAY_NS;
    p->due_ns = now_ns + p->delay_ns;
    p->delay_ns = 2 * p->delay_ns < LAST_DELAY_NS ? 2 * p->delay_ns : LAST_DELAY_NS;
}

/* Of a connection; 0 where its socket is none of TCP. */
static int64_t retransmits_of(const cse_tcp_connection *c)
{
    struct tcp_info info = { .tcpi_total_retrans = 0 };
    socklen_t size = sizeof info;
    if (c == NULL || getsockopt(c->socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
        return 0;
    return info.tcpi_total_retrans;
}

static void lose(peer *p)
{
    int64_t now = cse_clock_ns();
    if (p->connection == NULL)
        return;
    if (now - p->connection->begun_ns >= STEADY_NS)
        p->delay_ns = 0;
    back_off(p, now);
    p->counts.retransmits += retransmits_of(p->connection);
    cse_tcp_connection_destroy(&p->connection);
}

static void admit(cse_host_link_state *s, cse_tcp_connection **from, int host)
{
    peer *p = &s->peers[host];
    p->counts.retransmits += retransmits_of(p->connection);
    cse_tcp_connection_destroy(&p->connection);
    p->connection = *from;
    p->connection->number = ++s->numbers;
    p->connection->counts = &p->counts;
    *from = NULL;
}

/* A call */

static void call_failed(cse_host_link_state *s, int host, cse_status status)
{
    peer *p = &s->peers[host];
    char who[32];
    if (status != CSE_UNAVAILABLE) {
        p->counts.refused++;
        snprintf(who, sizeof who, "host %d", host);
        log_refusal(s, status == CSE_TEMPORARY ? CSE_LOG_INFO : CSE_LOG_WARNING, who);
    }
    cse_tcp_connection_destroy(&p->call);
    back_off(p, cse_clock_ns());
}

static void go_on_with_call(cse_host_link_state *s, int host)
{
    peer *p = &s->peers[host];
    cse_tcp_connection *c = p->call;
    cse_status status = cse_tcp_connection_greet(c);
    if (status != CSE_OK)
        call_failed(s, host, status);
    else if (c->open)
        admit(s, &p->call, host);
}

static void call(cse_host_link_state *s, int host, int64_t now_ns)
{
    peer *p = &s->peers[host];
    int chosen = p->next_address++ % p->addresses.count;
    const struct sockaddr *to = (const struct sockaddr *)&p->addresses.addresses[chosen];
    int fd = socket(to->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        back_off(p, now_ns);
        return;
    }
    p->call = cse_tcp_connection_new(fd, &s->side, host);
    p->call->connecting = true;
    if (connect(fd, to, p->addresses.sizes[chosen]) != 0 && errno != EINPROGRESS)
        call_failed(s, host, CSE_UNAVAILABLE);
}

/* Calls the host when it is time to; returns when it is to be looked at again. */
static int64_t maintain_call(cse_host_link_state *s, int host, int64_t now_ns)
{
    peer *p = &s->peers[host];
    if (!p->calls || p->connection != NULL)
        return NEVER;
    if (p->call != NULL) {
        if (now_ns - p->call->begun_ns < GREETING_NS)
            return p->call->begun_ns + GREETING_NS;
        call_failed(s, host, CSE_UNAVAILABLE);
    }
    if (p->lookup != NULL) {
        if (!cse_address_lookup_end(&p->lookup, &p->addresses))
            return now_ns + LOOKUP_NS;
        if (p->addresses.count == 0)
            back_off(p, now_ns);
        else
            call(s, host, now_ns);
    } else if (now_ns >= p->due_ns) {
        if (p->numeric)
            call(s, host, now_ns);
        else if ((p->lookup = cse_address_lookup_begin(&p->address)) == NULL)
            back_off(p, now_ns);
    }
    if (p->lookup != NULL)
        return now_ns + LOOKUP_NS;
    return p->call != NULL ? p->call->begun_ns + GREETING_NS : p->due_ns;
}

/* Strangers */

static void refuse_stranger(cse_host_link_state *s, cse_tcp_connection **stranger,
                            cse_status status)
{
    s->peers[s->side.host].counts.refused++;
    log_refusal(s, status == CSE_TEMPORARY ? CSE_LOG_INFO : CSE_LOG_WARNING,
                "a connection to this host");
    cse_tcp_connection_destroy(stranger);
}

static void go_on_with_stranger(cse_host_link_state *s, cse_tcp_connection **stranger)
{
    cse_tcp_connection *c = *stranger;
    cse_status status = cse_tcp_connection_greet(c);
    if (c->open && !s->peers[c->handshake.peer].linked)
        status = cse_fail(CSE_PERMISSION, "host %d is not linked to this one", c->handshake.peer);
    if (status != CSE_OK)
        refuse_stranger(s, stranger, status);
    else if (c->open)
        admit(s, stranger, c->handshake.peer);
}

/* A free place, or that of the oldest stranger when it may be taken away; NULL: none. */
static cse_tcp_connection **place_for_stranger(cse_host_link_state *s, int64_t now_ns,
                                               int64_t *next_ns)
{
    cse_tcp_connection **oldest = &s->strangers[0];
    for (int i = 0; i < STRANGERS; i++) {
        if (s->strangers[i] == NULL)
            return &s->strangers[i];
        if (s->strangers[i]->begun_ns < (*oldest)->begun_ns)
            oldest = &s->strangers[i];
    }
    *next_ns = (*oldest)->begun_ns + YIELDING_NS;
    return *next_ns <= now_ns ? oldest : NULL;
}

static void accept_strangers(cse_host_link_state *s)
{
    int64_t now = cse_clock_ns(), next;
    for (int i = 0; i < STRANGERS; i++) {
        cse_tcp_connection **place = place_for_stranger(s, now, &next);
        if (place == NULL)
            return;
        int fd = accept4(s->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
                s->listens_ns = now + NO_DESCRIPTOR_NS;
            return;
        }
        if (*place != NULL) {
            cse_fail(CSE_PERMISSION, "it did not speak in time while others waited");
            refuse_stranger(s, place, CSE_PERMISSION);
        }
        *place = cse_tcp_connection_new(fd, &s->side, -1);
    }
}

static int64_t maintain_strangers(cse_host_link_state *s, int64_t now_ns)
{
    int64_t next = NEVER;
    for (int i = 0; i < STRANGERS; i++) {
        cse_tcp_connection *c = s->strangers[i];
        if (c == NULL)
            continue;
        int64_t end = c->begun_ns + GREETING_NS;
        if (end <= now_ns) {
            cse_fail(CSE_PERMISSION, "it did not prove in time that it has the key of this run");
            refuse_stranger(s, &s->strangers[i], CSE_PERMISSION);
        } else if (end < next) {
            next = end;
        }
    }
    return next;
}

/* Events */

/* A frame of the host, unless its connection turns out to be over. */
static bool take_frame(cse_host_link_state *s, int host, cse_host_link_event *event)
{
    peer *p = &s->peers[host];
    char who[48];
    cse_status status = cse_tcp_connection_frame(p->connection, &event->bytes, &event->size);
    if (status == CSE_TEMPORARY)
        return false;
    if (status == CSE_OK) {
        event->kind = CSE_HOST_LINK_FRAME;
        s->frames_since_look++;
        s->bytes_since_look += event->size;
        return true;
    }
    if (status == CSE_DATA) {
        p->counts.refused++;
        snprintf(who, sizeof who, "what came from host %d", host);
        log_refusal(s, CSE_LOG_WARNING, who);
    }
    lose(p);
    p->told = 0;
    event->kind = CSE_HOST_LINK_LOST;
    return true;
}

static bool take_event(cse_host_link_state *s, cse_host_link_event *event)
{
    for (int i = 0; i < s->side.host_count; i++) {
        int host = (s->turn + i) % s->side.host_count;
        peer *p = &s->peers[host];
        uint64_t number = p->connection != NULL ? p->connection->number : 0;
        *event = (cse_host_link_event){ .host = host };
        if (p->told != 0 && p->told != number) {
            p->told = 0;
            event->kind = CSE_HOST_LINK_LOST;
        } else if (p->told != number) {
            p->told = number;
            event->kind = CSE_HOST_LINK_CONNECTED;
        } else if (number == 0 || p->held || !take_frame(s, host, event)) {
            continue;
        }
        s->turn = (host + 1) % s->side.host_count;
        return true;
    }
    *event = (cse_host_link_event){ .kind = CSE_HOST_LINK_NOTHING, .host = -1 };
    return false;
}

/* Looking at sockets */

static void watch(cse_host_link_state *s, int descriptor, short events, cse_tcp_connection **of)
{
    s->polled[s->polled_count] = (struct pollfd){ .fd = descriptor, .events = events };
    s->polled_of[s->polled_count++] = of;
}

static void watch_peer(cse_host_link_state *s, peer *p)
{
    cse_tcp_connection *c = p->connection;
    if (p->call != NULL)
        watch(s, p->call->socket, cse_tcp_connection_awaits(p->call), &p->call);
    if (c == NULL || c->ended)
        return;
    short events = 0;
    if (!p->held && !cse_tcp_connection_has_frame(c))
        events |= POLLIN;
    if (c->queue.queued_bytes > 0 && !c->broken)
        events |= POLLOUT;
    if (events != 0 || p->held)
        watch(s, c->socket, events, &p->connection);
}

static void watch_all(cse_host_link_state *s, int64_t now_ns, int64_t *next_ns)
{
    int64_t yields = NEVER;
    s->polled_count = 0;
    watch(s, s->wake, POLLIN, NULL);
    for (int host = 0; host < s->side.host_count; host++)
        watch_peer(s, &s->peers[host]);
    for (int i = 0; i < STRANGERS; i++) {
        cse_tcp_connection **c = &s->strangers[i];
        if (*c != NULL)
            watch(s, (*c)->socket, cse_tcp_connection_awaits(*c), c);
    }
    if (s->listener < 0)
        return;
    if (place_for_stranger(s, now_ns, &yields) != NULL)
        yields = s->listens_ns;
    if (yields <= now_ns)
        watch(s, s->listener, POLLIN, NULL);
    else if (yields < *next_ns)
        *next_ns = yields;
}

/* What has to be done by the clock; returns when that is the case again. */
static int64_t maintain(cse_host_link_state *s, int64_t now_ns)
{
    int64_t next = maintain_strangers(s, now_ns);
    for (int host = 0; host < s->side.host_count; host++) {
        peer *p = &s->peers[host];
        if (p->connection != NULL) {
            if (!cse_tcp_connection_answers(p->connection, now_ns))
                lose(p);
            else if (p->connection->queue.queued_bytes > 0 && !p->connection->full)
                cse_tcp_connection_flush(p->connection);
            if (now_ns + ALIVE_NS < next)
                next = now_ns + ALIVE_NS;
        }
        int64_t calls = maintain_call(s, host, now_ns);
        if (calls < next)
            next = calls;
    }
    return next;
}

static void go_on(cse_host_link_state *s, cse_tcp_connection **of, short events)
{
    cse_tcp_connection *c = *of;
    if (c == NULL)
        return;
    if (of >= s->strangers && of < s->strangers + STRANGERS) {
        go_on_with_stranger(s, of);
        return;
    }
    if (!c->open) {
        go_on_with_call(s, c->handshake.peer);
        return;
    }
    peer *p = &s->peers[c->handshake.peer];
    if (events & POLLOUT)
        cse_tcp_connection_flush(c);
    if (!p->held)
        cse_tcp_connection_receive(c);
    else if (events & (POLLERR | POLLHUP))
        lose(p);
}

/* Whether there is room again for a host to which a frame could not be sent. */
static bool has_room_again(const cse_host_link_state *s)
{
    for (int host = 0; host < s->side.host_count; host++)
        if (s->peers[host].connection != NULL && s->peers[host].connection->roomy)
            return true;
    return false;
}

static void forget_room(cse_host_link_state *s)
{
    for (int host = 0; host < s->side.host_count; host++)
        if (s->peers[host].connection != NULL)
            s->peers[host].connection->roomy = false;
}

/* Waits until something can go on, at most until the deadline; false: `wake` is readable. */
static bool look(cse_host_link_state *s, int64_t deadline_ns)
{
    int64_t now = cse_clock_ns(), next = maintain(s, now);
    watch_all(s, now, &next);
    int64_t wait = has_room_again(s) ? 0 : (deadline_ns < next ? deadline_ns : next) - now;
    struct timespec limit = { .tv_sec = wait > 0 ? wait / 1000000000 : 0,
                              .tv_nsec = wait > 0 ? wait % 1000000000 : 0 };
    s->frames_since_look = 0;
    s->bytes_since_look = 0;
    if (ppoll(s->polled, (nfds_t)s->polled_count, &limit, NULL) <= 0)
        return true;
    for (int i = 1; i < s->polled_count; i++) {
        if (s->polled[i].revents == 0)
            continue;
        if (s->polled_of[i] != NULL)
            go_on(s, s->polled_of[i], s->polled[i].revents);
        else
            accept_strangers(s);
    }
    return s->polled[0].revents == 0;
}

/* The contract */

static cse_status tcp_next(cse_host_link_state *s, int64_t deadline_ns, cse_host_link_event *event)
{
    bool enough =
        s->frames_since_look >= FRAMES_BETWEEN_LOOKS || s->bytes_since_look >= BYTES_BETWEEN_LOOKS;
    if (!enough && take_event(s, event))
        return CSE_OK;
    if (enough)
        look(s, 0);
    for (;;) {
        if (take_event(s, event))
            return CSE_OK;
        bool woken = !look(s, deadline_ns);
        if (take_event(s, event))
            return CSE_OK;
        if (has_room_again(s) || woken || cse_clock_ns() >= deadline_ns) {
            forget_room(s);
            return CSE_OK;
        }
    }
}

static cse_status link_send(cse_host_link_state *s, int host, const void *first, size_t first_bytes,
                            const void *second, size_t second_bytes)
{
    if (second == NULL)
        second_bytes = 0;
    if (first_bytes > CSE_HOST_LINK_MAX_BYTES ||
        second_bytes > CSE_HOST_LINK_MAX_BYTES - first_bytes)
        return cse_fail(CSE_INTERNAL, "a frame of %zu bytes; at most %d can be sent",
                        first_bytes + second_bytes, CSE_HOST_LINK_MAX_BYTES);
    cse_tcp_connection *c =
        host >= 0 && host < s->side.host_count ? s->peers[host].connection : NULL;
    if (c == NULL || c->number != s->peers[host].told)
        return cse_fail(CSE_UNAVAILABLE, "host %d is not connected", host);
    return cse_tcp_connection_queue(c, first, first_bytes, second, second_bytes);
}

static void tcp_hold(cse_host_link_state *s, int host, bool held)
{
    if (host >= 0 && host < s->side.host_count)
        s->peers[host].held = held;
}

static bool tcp_connected(const cse_host_link_state *s, int host)
{
    return host >= 0 && host < s->side.host_count && s->peers[host].connection != NULL &&
           s->peers[host].told == s->peers[host].connection->number;
}

static bool tcp_drained(const cse_host_link_state *s, int host)
{
    return !tcp_connected(s, host) || s->peers[host].connection->queue.queued_bytes == 0;
}

static cse_host_link_counts tcp_counts(const cse_host_link_state *s, int host)
{
    if (host < 0 || host >= s->side.host_count)
        return (cse_host_link_counts){ 0 };
    cse_host_link_counts counts = s->peers[host].counts;
    counts.retransmits += retransmits_of(s->peers[host].connection);
    return counts;
}

static const char *tcp_address(const cse_host_link_state *s)
{
    return s->address;
}

/* Whether the connection needs no more time: all was sent and acknowledged, or cannot be. Bytes
 * that come are thrown away: a socket that is closed with some in it drops what it has to send. */
static bool is_over(cse_tcp_connection *c)
{
    unsigned char rest[16384];
    int unacknowledged = 0;
    ssize_t got = 1;
    if (c == NULL || c->broken)
        return true;
    for (int i = 0; i < MOST_READS && got > 0; i++)
        got = recv(c->socket, rest, sizeof rest, 0);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
        c->ended = true;
    if (c->queue.queued_bytes > 0)
        cse_tcp_connection_flush(c);
    if (c->broken || c->queue.queued_bytes > 0)
        return c->broken;
    shutdown(c->socket, SHUT_WR);
    return c->ended || ioctl(c->socket, SIOCOUTQ, &unacknowledged) != 0 || unacknowledged == 0;
}

/* All at once, so that the time is bounded for all of them together. */
static void end_connections(cse_host_link_state *s)
{
    int64_t deadline = cse_clock_ns() + CLOSING_NS;
    for (;;) {
        bool over = true;
        for (int host = 0; host < s->side.host_count; host++)
            if (!is_over(s->peers[host].connection))
                over = false;
        if (over || cse_clock_ns() >= deadline)
            return;
        cse_sleep_ns(MS);
    }
}

static void tcp_close(cse_host_link_state **state)
{
    cse_host_link_state *s = *state;
    if (s == NULL)
        return;
    end_connections(s);
    for (int host = 0; host < s->side.host_count; host++) {
        cse_tcp_connection_destroy(&s->peers[host].connection);
        cse_tcp_connection_destroy(&s->peers[host].call);
        cse_address_lookup_leave(&s->peers[host].lookup);
    }
    for (int i = 0; i < STRANGERS; i++)
        cse_tcp_connection_destroy(&s->strangers[i]);
    if (s->listener >= 0)
        close(s->listener);
    sodium_memzero(s, sizeof *s);
    free(s);
    *state = NULL;
}

static cse_status set_up(cse_host_link_state *s, const cse_host_link_options *options)
{
    for (int host = 0; host < options->host_count; host++) {
        peer *p = &s->peers[host];
        const char *text = options->addresses[host];
        if (text == NULL || text[0] == '\0')
            continue;
        p->linked = host != options->host;
        p->calls = host < options->host;
        if (host > options->host)
            continue;
        CSE_TRY(cse_host_address_parse(text, &p->address));
        if (host < options->host) {
            p->numeric = cse_host_address_is_numeric(&p->address, &p->addresses);
            continue;
        }
        int port = 0;
        CSE_TRY(cse_host_address_listen(&p->address, &s->listener, &port));
        cse_host_address_print(&p->address, port, s->address);
    }
    return CSE_OK;
}

static cse_status tcp_open(const cse_host_link_options *options, cse_host_link_state **state)
{
    *state = NULL;
    if (options->host_count < 1 || options->host_count > CSE_MAX_HOSTS || options->host < 0 ||
        options->host >= options->host_count)
        return cse_fail(CSE_CONFIG, "host %d of %d hosts; there can be at most %d, from 0",
                        options->host, options->host_count, CSE_MAX_HOSTS);
    if (sodium_init() < 0)
        return cse_fail(CSE_UNAVAILABLE, "libsodium gets no random numbers from this system");
    cse_host_link_state *s = cse_calloc(1, sizeof *s);
    s->side = (cse_handshake_side){ .host = options->host,
                                    .host_count = options->host_count,
                                    .session = options->session,
                                    .plain = options->plain };
    memcpy(s->side.key, options->key, sizeof s->side.key);
    s->wake = options->wake;
    s->listener = -1;
    cse_status status = set_up(s, options);
    if (status != CSE_OK)
        tcp_close(&s);
    *state = s;
    return status;
}

const cse_host_link cse_host_link_tcp = {
    .name = "tcp",
    .summary = "TCP connections between all hosts, encrypted with the key of the run",
    .open = tcp_open,
    .send = link_send,
    .next = tcp_next,
    .hold = tcp_hold,
    .connected = tcp_connected,
    .drained = tcp_drained,
    .counts = tcp_counts,
    .address = tcp_address,
    .close = tcp_close,
};
