/* Bytes are received into one buffer, which grows to the frame that is awaited, and frames are
 * opened where they lie in it. It is read again only when it holds no whole frame, so at most one
 * frame's beginning is moved to its front.
 *
 * A dead host is noticed by the kernel's keep-alive where nothing is being sent, and else by the
 * age of its last acknowledgement. TCP_USER_TIMEOUT is not used: it also ends connections to hosts
 * that answer, but take nothing for a while. */
#include "workers/links/tcp_connection.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"

enum {
    KEEP_ALIVE_IDLE_S = 2,
    KEEP_ALIVE_EVERY_S = 1,
    KEEP_ALIVE_COUNT = 6,
    SILENCE_MS = 8000,
    SILENT_LOOKS = 2,
    MIN_IN_BYTES = 256 << 10,
    FLUSH_BYTES = 256 << 10, /* so much queued is sent at once */
    ROOMY_BYTES = CSE_FRAME_RING_BYTES / 2,
    TURN_BYTES = 2 << 20, /* at most so much is sent before others are looked at */
};
#define LOOK_NS INT64_C(1000000000)

static void set_option(int socket, int level, int option, int value)
{
    setsockopt(socket, level, option, &value, sizeof value);
}

cse_tcp_connection *cse_tcp_connection_new(int socket, const cse_handshake_side *side, int peer)
{
    cse_tcp_connection *c = cse_aligned_calloc(sizeof *c);
    c->socket = socket;
    c->begun_ns = cse_clock_ns();
    cse_handshake_begin(&c->handshake, side, peer);
    set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, KEEP_ALIVE_IDLE_S);
    set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, KEEP_ALIVE_EVERY_S);
    set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, KEEP_ALIVE_COUNT);
    set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
    return c;
}

void cse_tcp_connection_destroy(cse_tcp_connection **connection)
{
    cse_tcp_connection *c = *connection;
    if (c == NULL)
        return;
    close(c->socket);
    cse_handshake_end(&c->handshake);
    cse_frame_cipher_end(&c->sends);
    cse_frame_cipher_end(&c->receives);
    cse_frame_ring_clear(&c->queue);
    free(c->in);
    free(c);
    *connection = NULL;
}

static bool would_block(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

static cse_status greeting_failed(const char *what)
{
    return cse_fail(CSE_UNAVAILABLE, "%s", what);
}

static cse_status send_greeting(cse_tcp_connection *c)
{
    cse_handshake *h = &c->handshake;
    while (c->sent_bytes < h->out_bytes) {
        ssize_t sent =
            send(c->socket, h->out + c->sent_bytes, h->out_bytes - c->sent_bytes, MSG_NOSIGNAL);
        if (sent < 0)
            return would_block() ? CSE_OK : greeting_failed(strerror(errno));
        c->sent_bytes += (size_t)sent;
    }
    return CSE_OK;
}

cse_status cse_tcp_connection_greet(cse_tcp_connection *connection)
{
    cse_tcp_connection *c = connection;
    cse_handshake *h = &c->handshake;
    if (c->connecting) {
        int error = 0;
        socklen_t size = sizeof error;
        getsockopt(c->socket, SOL_SOCKET, SO_ERROR, &error, &size);
        if (error != 0)
            return greeting_failed(strerror(error));
        c->connecting = false;
    }
    CSE_TRY(send_greeting(c));
    while (h->expected > 0 && c->sent_bytes == h->out_bytes) {
        ssize_t got =
            recv(c->socket, c->greeting + c->greeting_bytes, h->expected - c->greeting_bytes, 0);
        if (got == 0)
            return greeting_failed("it was ended by the other side");
        if (got < 0)
            return would_block() ? CSE_OK : greeting_failed(strerror(errno));
        c->greeting_bytes += (size_t)got;
        if (c->greeting_bytes < h->expected)
            continue;
        c->greeting_bytes = c->sent_bytes = 0;
        CSE_TRY(cse_handshake_take(h, c->greeting));
        CSE_TRY(send_greeting(c));
    }
    if (h->expected > 0 || c->sent_bytes < h->out_bytes)
        return CSE_OK;
    CSE_TRY(cse_handshake_finish(h, &c->sends, &c->receives));
    c->in = cse_malloc(MIN_IN_BYTES);
    c->in_capacity = MIN_IN_BYTES;
    c->open = true;
    return CSE_OK;
}

short cse_tcp_connection_awaits(const cse_tcp_connection *connection)
{
    bool sends = connection->connecting || connection->sent_bytes < connection->handshake.out_bytes;
    return sends ? POLLOUT : POLLIN;
}

cse_status cse_tcp_connection_queue(cse_tcp_connection *connection, const void *first,
                                    size_t first_bytes, const void *second, size_t second_bytes)
{
    cse_tcp_connection *c = connection;
    size_t content_bytes = first_bytes + second_bytes;
    size_t frame_bytes = content_bytes + CSE_FRAME_OVERHEAD_BYTES;
    unsigned char *frame = cse_frame_ring_room(&c->queue, frame_bytes);
    if (frame == NULL && !c->full) {
        cse_tcp_connection_flush(c);
        frame = cse_frame_ring_room(&c->queue, frame_bytes);
    }
    if (c->broken)
        return cse_fail(CSE_UNAVAILABLE, "the connection ended");
    c->crowded = frame == NULL;
    if (frame == NULL)
        return cse_fail(CSE_TEMPORARY, "%zu bytes wait to be sent already", c->queue.queued_bytes);
    if (first_bytes > 0)
        memcpy(frame + CSE_FRAME_LENGTH_BYTES, first, first_bytes);
    if (second_bytes > 0)
        memcpy(frame + CSE_FRAME_LENGTH_BYTES + first_bytes, second, second_bytes);
    cse_frame_seal(&c->sends, frame, content_bytes);
    cse_frame_ring_add(&c->queue, frame, frame_bytes);
    c->counts->frames_sent++;
    if (c->queue.queued_bytes >= FLUSH_BYTES && !c->full)
        cse_tcp_connection_flush(c);
    return CSE_OK;
}

void cse_tcp_connection_flush(cse_tcp_connection *connection)
{
    cse_tcp_connection *c = connection;
    c->full = false;
    for (size_t turn = 0; c->queue.queued_bytes > 0 && turn < TURN_BYTES;) {
        size_t size;
        const unsigned char *oldest = cse_frame_ring_oldest(&c->queue, &size);
        ssize_t sent = send(c->socket, oldest, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && would_block()) {
            c->full = true;
            return;
        }
        if (sent < 0) {
            c->broken = true;
            cse_frame_ring_clear(&c->queue);
            return;
        }
        cse_frame_ring_remove(&c->queue, (size_t)sent);
        c->counts->bytes_sent += sent;
        turn += (size_t)sent;
        if (c->crowded && c->queue.queued_bytes <= ROOMY_BYTES) {
            c->crowded = false;
            c->roomy = true;
        }
    }
}

/* Room for the whole frame that is awaited, or for some small ones. */
static void make_room(cse_tcp_connection *c)
{
    size_t content_bytes, size = c->in_end - c->in_begin, wanted = MIN_IN_BYTES;
    if (cse_frame_measure(c->in + c->in_begin, size, &content_bytes) == CSE_OK &&
        content_bytes + CSE_FRAME_OVERHEAD_BYTES > wanted)
        wanted = content_bytes + CSE_FRAME_OVERHEAD_BYTES;
    if (c->in_begin > 0 && (size == 0 || c->in_capacity - c->in_begin < wanted)) {
        memmove(c->in, c->in + c->in_begin, size);
        c->in_begin = 0;
        c->in_end = size;
    }
    if (c->in_capacity < wanted) {
        c->in = cse_realloc(c->in, wanted);
        c->in_capacity = wanted;
    }
}

void cse_tcp_connection_receive(cse_tcp_connection *connection)
{
    cse_tcp_connection *c = connection;
    if (c->ended || cse_tcp_connection_has_frame(c))
        return;
    make_room(c);
    ssize_t got = recv(c->socket, c->in + c->in_end, c->in_capacity - c->in_end, 0);
    if (got > 0) {
        c->in_end += (size_t)got;
        c->counts->bytes_received += got;
    } else if (got == 0 || !would_block()) {
        c->ended = true;
    }
}

/* A length that is too large counts as a frame, so that it is refused. */
bool cse_tcp_connection_has_frame(const cse_tcp_connection *connection)
{
    size_t size = connection->in_end - connection->in_begin, content_bytes = 0;
    if (size < CSE_FRAME_LENGTH_BYTES)
        return false;
    cse_status status =
        cse_frame_measure(connection->in + connection->in_begin, size, &content_bytes);
    return status != CSE_OK || size >= content_bytes + CSE_FRAME_OVERHEAD_BYTES;
}

cse_status cse_tcp_connection_frame(cse_tcp_connection *connection, const unsigned char **bytes,
                                    size_t *size)
{
    cse_tcp_connection *c = connection;
    size_t content_bytes;
    if (!cse_tcp_connection_has_frame(c))
        return c->ended ? CSE_UNAVAILABLE : CSE_TEMPORARY;
    unsigned char *frame = c->in + c->in_begin;
    CSE_TRY(cse_frame_measure(frame, c->in_end - c->in_begin, &content_bytes));
    CSE_TRY(cse_frame_open(&c->receives, frame, content_bytes));
    c->in_begin += content_bytes + CSE_FRAME_OVERHEAD_BYTES;
    c->counts->frames_received++;
    *bytes = frame + CSE_FRAME_LENGTH_BYTES;
    *size = content_bytes;
    return CSE_OK;
}

/* A host that takes nothing answers each probe of the kernel, but those come more and more seldom:
 * so something must be unanswered in two looks in succession. */
bool cse_tcp_connection_answers(cse_tcp_connection *connection, int64_t now_ns)
{
    cse_tcp_connection *c = connection;
    struct tcp_info info;
    socklen_t size = sizeof info;
    if (now_ns - c->looked_ns < LOOK_NS)
        return true;
    c->looked_ns = now_ns;
    if (getsockopt(c->socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
        return true;
    bool unanswered = info.tcpi_unacked > 0 || info.tcpi_probes > 0;
    c->silent_looks = unanswered && info.tcpi_last_ack_recv > SILENCE_MS ? c->silent_looks + 1 : 0;
    return c->silent_looks < SILENT_LOOKS;
}
