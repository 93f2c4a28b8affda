/* Control messages over ZeroMQ: a ROUTER that binds, DEALERs that connect.
 *
 * Inside a host the endpoint is ipc:// with a socket file in a directory of mode 0700, so that file
 * permissions decide who may connect; of the same user's processes, those are heard whose name
 * begins with the socket's key (socket_key.h). Five options are set on every socket, as their
 * defaults lose messages or block for ever: ROUTER_MANDATORY (sending to an unknown peer is an
 * error), ROUTER_HANDOVER (a name whose former owner has just gone can be had again),
 * LINGER (closing waits a bounded time), SNDHWM/RCVHWM (a bounded queue for each peer) and
 * IMMEDIATE (nothing is queued before a connection is established). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zmq.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "workers/transports/socket_key.h"
#include "workers/transports/transport.h"

struct cse_socket {
    void *context, *socket;
    char path[108];                      /* of the socket's file; "" for other endpoints */
    char key[CSE_SOCKET_KEY_DIGITS + 1]; /* the first part of peers' names; "" likewise */
    bool bound;
};

/* Closing waits this long for the last messages, such as a failure report, to be delivered. */
enum { LINGER_MS = 500, QUEUED_MESSAGES = 1000 };
enum { NAME_BYTES = CSE_SOCKET_KEY_DIGITS + CSE_PEER_BYTES };

static void zeromq_close(cse_socket **socket)
{
    cse_socket *s = *socket;
    if (s == NULL)
        return;
    if (s->bound && s->path[0] != '\0')
        cse_socket_key_remove(s->path);
    if (s->socket != NULL)
        zmq_close(s->socket);
    if (s->context != NULL)
        while (zmq_ctx_term(s->context) != 0 && errno == EINTR)
            continue;
    free(s);
    *socket = NULL;
}

static bool set_option(cse_socket *s, int option, int value)
{
    return zmq_setsockopt(s->socket, option, &value, sizeof value) == 0;
}

static cse_status zeromq_new(bool bound, const char *endpoint, cse_socket **socket)
{
    cse_socket *s = cse_calloc(1, sizeof *s);
    s->bound = bound;
    s->context = zmq_ctx_new();
    if (s->context != NULL)
        s->socket = zmq_socket(s->context, bound ? ZMQ_ROUTER : ZMQ_DEALER);
    int64_t most_bytes = CSE_TRANSPORT_MAX_BYTES;
    if (s->socket == NULL || !set_option(s, ZMQ_LINGER, LINGER_MS) ||
        !set_option(s, ZMQ_SNDHWM, QUEUED_MESSAGES) ||
        !set_option(s, ZMQ_RCVHWM, QUEUED_MESSAGES) || !set_option(s, ZMQ_IMMEDIATE, 1) ||
        (bound &&
         (!set_option(s, ZMQ_ROUTER_MANDATORY, 1) || !set_option(s, ZMQ_ROUTER_HANDOVER, 1))) ||
        zmq_setsockopt(s->socket, ZMQ_MAXMSGSIZE, &most_bytes, sizeof most_bytes) != 0) {
        cse_status status = cse_fail(CSE_UNAVAILABLE, "control socket %s: cannot be made: %s",
                                     endpoint, zmq_strerror(errno));
        zeromq_close(&s);
        return status;
    }
    *socket = s;
    return CSE_OK;
}

/* Peers' names as ZeroMQ has them. */
static void name_peer(const cse_socket *s, const char *peer, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "%s%s", s->key, peer);
}

static cse_status take_key(cse_socket *s, const char *endpoint)
{
    static const char scheme[] = "ipc://";
    if (strncmp(endpoint, scheme, sizeof scheme - 1) != 0)
        return CSE_OK;
    const char *path = endpoint + sizeof scheme - 1;
    if (strlen(path) >= sizeof s->path)
        return CSE_OK; /* ZeroMQ refuses it */
    CSE_TRY(cse_socket_key(path, s->key));
    snprintf(s->path, sizeof s->path, "%s", path);
    return CSE_OK;
}

static cse_status zeromq_bind(const char *endpoint, cse_socket **socket)
{
    cse_socket *s;
    CSE_TRY(zeromq_new(true, endpoint, &s));
    const cse_status status = take_key(s, endpoint);
    if (status != CSE_OK) {
        zeromq_close(&s);
        return status;
    }
    mode_t old_mask = umask(0177);
    int bound = zmq_bind(s->socket, endpoint);
    int error = errno;
    umask(old_mask);
    if (bound != 0) {
        zeromq_close(&s);
        return cse_fail(CSE_UNAVAILABLE, "control socket %s: cannot listen: %s", endpoint,
                        zmq_strerror(error));
    }
    *socket = s;
    return CSE_OK;
}

static cse_status zeromq_connect(const char *endpoint, const char *peer, cse_socket **socket)
{
    cse_socket *s;
    char name[NAME_BYTES];
    CSE_TRY(zeromq_new(false, endpoint, &s));
    const cse_status keyed = take_key(s, endpoint);
    if (keyed != CSE_OK) {
        zeromq_close(&s);
        return keyed;
    }
    name_peer(s, peer, name);
    if (zmq_setsockopt(s->socket, ZMQ_ROUTING_ID, name, strlen(name)) != 0 ||
        zmq_connect(s->socket, endpoint) != 0) {
        cse_status status = cse_fail(CSE_UNAVAILABLE, "control socket %s: cannot connect as %s: %s",
                                     endpoint, peer, zmq_strerror(errno));
        zeromq_close(&s);
        return status;
    }
    *socket = s;
    return CSE_OK;
}

static int milliseconds_until(int64_t deadline_ns)
{
    int64_t left = deadline_ns - cse_clock_ns();
    if (left <= 0)
        return 0;
    return left > INT64_C(3600000000000) ? 3600000 : (int)((left + 999999) / 1000000);
}

static cse_status zeromq_send(cse_socket *s, const char *peer, const void *bytes, size_t size,
                              int64_t deadline_ns)
{
    set_option(s, ZMQ_SNDTIMEO, milliseconds_until(deadline_ns));
    int sent = 0;
    char name[NAME_BYTES] = "";
    if (s->bound)
        name_peer(s, peer, name);
    if (s->bound)
        do
            sent = zmq_send(s->socket, name, strlen(name), ZMQ_SNDMORE);
        while (sent < 0 && errno == EINTR);
    if (sent >= 0)
        do
            sent = zmq_send(s->socket, bytes, size, 0);
        while (sent < 0 && errno == EINTR);
    if (sent >= 0)
        return CSE_OK;
    const char *whom = s->bound ? peer : "the coordinator";
    if (errno == EAGAIN)
        return cse_fail(CSE_TEMPORARY, "control message to %s: not taken by the deadline", whom);
    return cse_fail(CSE_UNAVAILABLE, "control message to %s: %s", whom, zmq_strerror(errno));
}

/* Reads one frame into `bytes`; *more tells whether another one belongs to the message. */
static int receive_frame(cse_socket *s, int flags, cse_text *bytes, bool *more)
{
    zmq_msg_t frame;
    zmq_msg_init(&frame);
    int received = zmq_msg_recv(&frame, s->socket, flags);
    int error = errno;
    if (received >= 0) {
        bytes->size = 0;
        cse_text_add_bytes(bytes, zmq_msg_data(&frame), zmq_msg_size(&frame));
        *more = zmq_msg_more(&frame);
    }
    zmq_msg_close(&frame);
    errno = error;
    return received;
}

static void drop_rest(cse_socket *s, bool more)
{
    cse_text rest = { 0 };
    while (more && receive_frame(s, ZMQ_DONTWAIT, &rest, &more) >= 0)
        continue;
    cse_text_clear(&rest);
}

/* Messages of another form than [name,] body are not csengine's and are dropped. */
static bool receive_message(cse_socket *s, char peer[CSE_PEER_BYTES], cse_text *bytes, int *error)
{
    bool more = false;
    *error = 0;
    peer[0] = '\0';
    if (receive_frame(s, ZMQ_DONTWAIT, bytes, &more) < 0) {
        *error = errno;
        return false;
    }
    if (s->bound) {
        const size_t key = strlen(s->key);
        bool fits = more && bytes->size > key && bytes->size - key < CSE_PEER_BYTES &&
                    (key == 0 || cse_socket_key_is(s->key, bytes->data));
        if (fits) {
            memcpy(peer, bytes->data + key, bytes->size - key);
            peer[bytes->size - key] = '\0';
            fits = receive_frame(s, ZMQ_DONTWAIT, bytes, &more) >= 0;
        }
        if (!fits) {
            drop_rest(s, more);
            return false;
        }
    }
    drop_rest(s, more);
    return !more;
}

static cse_status zeromq_receive(cse_socket *s, int64_t deadline_ns, char peer[CSE_PEER_BYTES],
                                 cse_text *bytes, bool *received)
{
    *received = false;
    for (;;) {
        int error;
        if (receive_message(s, peer, bytes, &error)) {
            *received = true;
            return CSE_OK;
        }
        if (error == EINTR || error == 0)
            continue;
        if (error != EAGAIN)
            return cse_fail(CSE_UNAVAILABLE, "control socket: cannot receive: %s",
                            zmq_strerror(error));
        int wait_ms = milliseconds_until(deadline_ns);
        if (wait_ms == 0)
            return CSE_OK;
        zmq_pollitem_t item = { .socket = s->socket, .events = ZMQ_POLLIN };
        zmq_poll(&item, 1, wait_ms);
    }
}

static int zeromq_descriptor(const cse_socket *s)
{
    int descriptor = -1;
    size_t size = sizeof descriptor;
    return zmq_getsockopt(s->socket, ZMQ_FD, &descriptor, &size) == 0 ? descriptor : -1;
}

const cse_transport cse_transport_zeromq = {
    .name = "zeromq",
    .summary = "ZeroMQ sockets: ipc:// inside a host",
    .bind = zeromq_bind,
    .connect = zeromq_connect,
    .send = zeromq_send,
    .receive = zeromq_receive,
    .descriptor = zeromq_descriptor,
    .close = zeromq_close,
};
