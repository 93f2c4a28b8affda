/* A stream is known by who opened it and the number that it got there. Nothing is queued but the
 * bytes of streams: what else is to be told (that it is opened, what is credited, that it ends) is
 * state of the stream, and becomes a message when the wire has room. */
#include "workers/carrier/carrier.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "workers/links/carrier_names.h"

enum {
    MOST_STREAMS = 1024,
    STREAMS_OF_HOST = 16,
    CREDIT_BYTES = CSE_CARRIER_WINDOW_BYTES / 4,
    SOCKET_BYTES = 1 << 20,
    MESSAGES_A_TURN = 64,
    READS_A_TURN = 16,
};

/* Of a message: what it says, who opened the stream, its number. */
enum { HEAD_BYTES = 8, DATA_BYTES = CSE_CARRIER_MESSAGE_BYTES - HEAD_BYTES };
typedef enum kind { OPENED = 1, DATA, CREDIT, ENDED, BROKEN } kind;

typedef struct stream {
    int peer; /* -1: this place is free */
    bool ours;
    uint32_t number;
    int socket;                 /* -1: closed */
    bool tells_opening, breaks; /* to be told */
    bool read_ended, told_end;  /* the mover says no more; the peer knows */
    bool end_arrived, shut;     /* the other mover says no more; ours knows */
    bool gone;                  /* the peer has forgotten the stream */
    size_t credit, owed;
    /* What came and the socket did not take: [begin, begin + waiting) of `bytes`, as a ring. */
    unsigned char *bytes;
    size_t begin, waiting;
} stream;

struct cse_carrier {
    cse_carrier_options options;
    int listeners[CSE_MAX_HOSTS]; /* -1: none */
    stream streams[MOST_STREAMS];
    int count; /* places in use are below */
    uint32_t numbers;
    struct pollfd polled[MOST_STREAMS + CSE_MAX_HOSTS];
    int polled_of[MOST_STREAMS + CSE_MAX_HOSTS]; /* a stream, or -1 - host of a listener */
};

static bool would_block(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

/* ---- places ---- */

static stream *find_stream(cse_carrier *c, int peer, bool ours, uint32_t number)
{
    for (int i = 0; i < c->count; i++) {
        stream *s = &c->streams[i];
        if (s->peer == peer && s->ours == ours && s->number == number)
            return s;
    }
    return NULL;
}

/* NULL: the host has too many. */
static stream *add_stream(cse_carrier *c, int peer, bool ours, uint32_t number)
{
    int of_host = 0, place = c->count;
    for (int i = c->count - 1; i >= 0; i--) {
        of_host += c->streams[i].peer == peer;
        if (c->streams[i].peer < 0)
            place = i;
    }
    if (of_host >= STREAMS_OF_HOST || place >= MOST_STREAMS)
        return NULL;
    if (place == c->count)
        c->count++;
    c->streams[place] = (stream){ .peer = peer,
                                  .ours = ours,
                                  .number = number,
                                  .socket = -1,
                                  .credit = CSE_CARRIER_WINDOW_BYTES };
    return &c->streams[place];
}

static void free_stream(cse_carrier *c, stream *s)
{
    if (s->socket >= 0)
        close(s->socket);
    free(s->bytes);
    *s = (stream){ .peer = -1, .socket = -1 };
    while (c->count > 0 && c->streams[c->count - 1].peer < 0)
        c->count--;
}

/* The mover is not there (any more): the peer is to know. */
static void break_stream(stream *s)
{
    if (s->socket >= 0)
        close(s->socket);
    s->socket = -1;
    s->waiting = 0;
    s->breaks = true;
}

/* ---- messages ---- */

static bool tell(cse_carrier *c, const stream *s, kind what, const unsigned char *more, size_t size)
{
    unsigned char *room = c->options.wire.room(c->options.wire.self, s->peer);
    if (room == NULL)
        return false;
    const uint32_t number = s->number;
    room[0] = (unsigned char)what;
    room[1] = s->ours;
    memset(room + 2, 0, 2);
    memcpy(room + 4, &number, sizeof number);
    if (size > 0)
        memcpy(room + HEAD_BYTES, more, size);
    c->options.wire.send(c->options.wire.self, s->peer, HEAD_BYTES + size);
    return true;
}

/* What the stream has to tell besides bytes, in order; false: the wire has no room. */
static bool tell_state(cse_carrier *c, stream *s, bool *moved)
{
    if (s->tells_opening) {
        if (!tell(c, s, OPENED, NULL, 0))
            return false;
        s->tells_opening = false;
        *moved = true;
    }
    if (s->breaks) {
        if (!s->gone && !tell(c, s, BROKEN, NULL, 0))
            return false;
        free_stream(c, s);
        *moved = true;
        return true;
    }
    if (s->owed >= CREDIT_BYTES && !s->gone) {
        const uint64_t credit = s->owed;
        if (!tell(c, s, CREDIT, (const unsigned char *)&credit, sizeof credit))
            return false;
        s->owed = 0;
        *moved = true;
    }
    if (s->read_ended && !s->told_end) {
        if (!tell(c, s, ENDED, NULL, 0))
            return false;
        s->told_end = true;
        *moved = true;
    }
    if (s->told_end && s->shut)
        free_stream(c, s);
    return true;
}

/* ---- to the mover ---- */

static bool write_bytes(stream *s, const unsigned char *bytes, size_t size, size_t *written)
{
    *written = 0;
    while (*written < size) {
        const ssize_t done = send(s->socket, bytes + *written, size - *written, MSG_NOSIGNAL);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return would_block();
        *written += (size_t)done;
    }
    return true;
}

static void shut_when_empty(stream *s)
{
    if (s->end_arrived && !s->shut && s->socket >= 0 && s->waiting == 0) {
        shutdown(s->socket, SHUT_WR);
        s->shut = true;
    }
}

static void write_waiting(stream *s)
{
    while (s->waiting > 0) {
        size_t part = CSE_CARRIER_WINDOW_BYTES - s->begin, written;
        part = part < s->waiting ? part : s->waiting;
        if (!write_bytes(s, s->bytes + s->begin, part, &written)) {
            break_stream(s);
            return;
        }
        s->begin = (s->begin + written) % CSE_CARRIER_WINDOW_BYTES;
        s->waiting -= written;
        s->owed += written;
        if (written < part)
            return;
    }
    shut_when_empty(s);
}

/* A peer that sends more than it has credit for is none of ours. */
static void take_data(stream *s, const unsigned char *bytes, size_t size)
{
    size_t written = 0;
    if (s->socket < 0 || s->end_arrived || size > CSE_CARRIER_WINDOW_BYTES - s->waiting) {
        break_stream(s);
        return;
    }
    if (s->waiting == 0 && !write_bytes(s, bytes, size, &written)) {
        break_stream(s);
        return;
    }
    s->owed += written;
    if (written == size)
        return;
    if (s->bytes == NULL)
        s->bytes = cse_malloc(CSE_CARRIER_WINDOW_BYTES);
    while (written < size) {
        const size_t end = (s->begin + s->waiting) % CSE_CARRIER_WINDOW_BYTES;
        size_t part = CSE_CARRIER_WINDOW_BYTES - end;
        part = part < size - written ? part : size - written;
        memcpy(s->bytes + end, bytes + written, part);
        s->waiting += part;
        written += part;
    }
}

static void take_opening(cse_carrier *c, int host, uint32_t number)
{
    stream *s = add_stream(c, host, false, number);
    if (s == NULL)
        return; /* the other mover gives up in time */
    s->socket = cse_carrier_connect(c->options.token, c->options.host, CSE_CARRIER_MOVER);
    if (s->socket < 0)
        break_stream(s);
}

static void take_message(cse_carrier *c, int host, const unsigned char *message, size_t size)
{
    uint32_t number;
    uint64_t credit = 0;
    if (size < HEAD_BYTES || host < 0 || host >= CSE_MAX_HOSTS || !c->options.others[host])
        return;
    memcpy(&number, message + 4, sizeof number);
    const unsigned char *content = message + HEAD_BYTES;
    stream *s = find_stream(c, host, message[1] == 0, number);
    size -= HEAD_BYTES;
    if (message[0] == OPENED && message[1] == 1 && s == NULL)
        take_opening(c, host, number);
    if (s == NULL)
        return; /* it has ended here already */
    switch ((kind)message[0]) {
    case OPENED:
        break;
    case DATA:
        take_data(s, content, size);
        break;
    case CREDIT:
        if (size == sizeof credit)
            memcpy(&credit, content, sizeof credit);
        if (credit <= CSE_CARRIER_WINDOW_BYTES - s->credit)
            s->credit += (size_t)credit;
        break;
    case ENDED:
        s->end_arrived = true;
        shut_when_empty(s);
        break;
    case BROKEN: /* what it has said before is still to be heard */
        s->gone = s->read_ended = s->told_end = s->end_arrived = true;
        shut_when_empty(s);
        s->breaks = s->breaks || s->socket < 0;
        break;
    }
}

/* ---- from the mover ---- */

/* Reads into the room of messages as long as there is some, and credit. */
static bool read_stream(cse_carrier *c, stream *s)
{
    bool moved = false;
    for (int i = 0; i < READS_A_TURN && s->credit > 0 && !s->read_ended; i++) {
        unsigned char *room = c->options.wire.room(c->options.wire.self, s->peer);
        if (room == NULL)
            return moved;
        const size_t most = s->credit < DATA_BYTES ? s->credit : DATA_BYTES;
        const ssize_t got = recv(s->socket, room + HEAD_BYTES, most, 0);
        if (got < 0 && would_block())
            return moved;
        moved = true;
        if (got <= 0) {
            s->read_ended = true;
            break;
        }
        s->credit -= (size_t)got;
        const uint32_t number = s->number;
        memset(room, 0, HEAD_BYTES);
        room[0] = DATA;
        room[1] = s->ours;
        memcpy(room + 4, &number, sizeof number);
        c->options.wire.send(c->options.wire.self, s->peer, HEAD_BYTES + (size_t)got);
        if ((size_t)got < most)
            break;
    }
    return moved;
}

static void widen(int socket)
{
    const int bytes = SOCKET_BYTES;
    setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

/* Only processes of the same user are let in. */
static bool accept_stream(cse_carrier *c, int host)
{
    const int socket = accept4(c->listeners[host], NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    struct ucred who;
    socklen_t size = sizeof who;
    if (socket < 0)
        return false;
    stream *s = getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
                        (who.uid == geteuid() || who.uid == 0)
                    ? add_stream(c, host, true, ++c->numbers)
                    : NULL;
    if (s == NULL) {
        close(socket);
        return true;
    }
    widen(socket);
    s->socket = socket;
    s->tells_opening = true;
    return true;
}

/* ---- a turn ---- */

static int watch(cse_carrier *c)
{
    int count = 0;
    for (int h = 0; h < CSE_MAX_HOSTS; h++)
        if (c->listeners[h] >= 0) {
            c->polled[count] = (struct pollfd){ .fd = c->listeners[h], .events = POLLIN };
            c->polled_of[count++] = -1 - h;
        }
    for (int i = 0; i < c->count; i++) {
        const stream *s = &c->streams[i];
        const bool reads = s->credit > 0 && !s->read_ended && !s->tells_opening &&
                           c->options.wire.room(c->options.wire.self, s->peer) != NULL;
        if (s->peer < 0 || s->socket < 0)
            continue;
        c->polled[count] = (struct pollfd){ .fd = s->socket,
                                            .events = (short)((reads ? POLLIN : 0) |
                                                              (s->waiting > 0 ? POLLOUT : 0)) };
        if (c->polled[count].events == 0)
            c->polled[count].fd = -1; /* a mover that ended would be told without end */
        c->polled_of[count++] = i;
    }
    return count;
}

bool cse_carrier_turn(cse_carrier *carrier, int64_t wait_ns)
{
    cse_carrier *c = carrier;
    bool moved = false;
    int host;
    size_t size;
    const unsigned char *message;
    for (int i = 0; i < MESSAGES_A_TURN &&
                    (message = c->options.wire.take(c->options.wire.self, &host, &size)) != NULL;
         i++) {
        take_message(c, host, message, size);
        moved = true;
    }
    const struct timespec limit = { .tv_nsec = moved ? 0 : (long)wait_ns };
    const int watched = watch(c);
    const int ready = ppoll(c->polled, (nfds_t)watched, &limit, NULL);
    for (int i = 0; i < watched && ready > 0; i++) {
        const int of = c->polled_of[i];
        if (c->polled[i].revents == 0)
            continue;
        if (of < 0) {
            moved |= accept_stream(c, -1 - of);
            continue;
        }
        stream *s = &c->streams[of];
        if (s->waiting > 0)
            write_waiting(s);
        if (s->socket >= 0 && !s->tells_opening)
            moved |= read_stream(c, s);
        moved = true;
    }
    for (int i = 0; i < c->count; i++)
        if (c->streams[i].peer >= 0)
            tell_state(c, &c->streams[i], &moved);
    return moved;
}

int cse_carrier_stream_count(const cse_carrier *carrier)
{
    int count = 0;
    for (int i = 0; i < carrier->count; i++)
        count += carrier->streams[i].peer >= 0;
    return count;
}

cse_status cse_carrier_open(const cse_carrier_options *options, cse_carrier **carrier)
{
    cse_carrier *c = cse_calloc(1, sizeof *c);
    cse_status status = CSE_OK;
    c->options = *options;
    for (int h = 0; h < CSE_MAX_HOSTS; h++)
        c->listeners[h] = -1;
    /* A link connects to the hosts with lower numbers. */
    for (int h = 0; h < options->host && status == CSE_OK; h++)
        if (options->others[h])
            status = cse_carrier_listen(options->token, options->host, h, &c->listeners[h]);
    *carrier = c;
    if (status != CSE_OK)
        cse_carrier_close(carrier);
    return status;
}

void cse_carrier_close(cse_carrier **carrier)
{
    cse_carrier *c = *carrier;
    if (c == NULL)
        return;
    for (int h = 0; h < CSE_MAX_HOSTS; h++)
        if (c->listeners[h] >= 0)
            close(c->listeners[h]);
    while (c->count > 0)
        free_stream(c, &c->streams[c->count - 1]);
    free(c);
    *carrier = NULL;
}
