/* The contract of a transport: how control messages travel.
 *
 * One side binds and talks to many peers, each known by the name it connected with; the other side
 * connects and talks to the binder alone. Messages arrive whole, in order from each peer, or not at
 * all. A socket is used by one thread. Each transport is one file in workers/transports that ends
 * with its descriptor. */
#ifndef CSE_WORKERS_TRANSPORTS_TRANSPORT_H
#define CSE_WORKERS_TRANSPORTS_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>

#include "csengine/status.h"
#include "engine/base/text.h"

enum {
    CSE_PEER_BYTES = 64,
    CSE_TRANSPORT_MAX_BYTES = 1 << 20, /* of one message */
};

typedef struct cse_socket cse_socket;

typedef struct cse_transport {
    const char *name;
    const char *summary;

    /* CSE_UNAVAILABLE when the endpoint is taken or cannot be made. */
    cse_status (*bind)(const char *endpoint, cse_socket **socket);
    /* `peer`: the name the binder will know this side by, 1 to CSE_PEER_BYTES - 1 characters. May
     * return before the binder is there; CSE_UNAVAILABLE for an invalid endpoint. */
    cse_status (*connect)(const char *endpoint, const char *peer, cse_socket **socket);
    /* `peer` NULL on the connecting side. Waits at most until the deadline (monotonic clock) for
     * room and, on the connecting side, for the binder. CSE_UNAVAILABLE when the peer is not there,
     * CSE_TEMPORARY when its queue is still full at the deadline. */
    cse_status (*send)(cse_socket *socket, const char *peer, const void *bytes, size_t size,
                       int64_t deadline_ns);
    /* The next message in `bytes` (its former content is dropped) and the name of its sender, "" on
     * the connecting side. *received is false when none came by the deadline; with a deadline in
     * the past it does not wait. */
    cse_status (*receive)(cse_socket *socket, int64_t deadline_ns, char peer[CSE_PEER_BYTES],
                          cse_text *bytes, bool *received);
    /* Becomes readable when there may be messages, edge-triggered: receive until nothing comes,
     * then wait. -1: no descriptor, poll by receive. */
    int (*descriptor)(const cse_socket *socket);
    /* Waits a bounded time for sent messages to be delivered, then drops them. */
    void (*close)(cse_socket **socket);
} cse_transport;

/* The transports in name order, ended by NULL; written by autogen.sh. */
extern const cse_transport *const cse_transports[];

/* The transport of that name; NULL: "zeromq". CSE_CONFIG when there is none. */
cse_status cse_transport_select(const char *name, const cse_transport **transport);

#endif
