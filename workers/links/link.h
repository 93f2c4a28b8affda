/* The contract of a link: how the processes of several hosts exchange frames.
 *
 * One process a host takes part. A frame arrives whole, unchanged and in order from each host, or
 * not at all; after CONNECTED nothing of an earlier connection arrives. Hosts are numbered from 0.
 * A link knows nothing of what the frames mean: what must not get lost is repeated by those who
 * send it. It is used by one thread. Each link is one file in workers/links that ends with its
 * descriptor.
 *
 * Nobody takes part without the key of the run: a peer proves that it has it before any other byte
 * of it is looked at, and no frame of another connection, or of another session of the same run,
 * is ever accepted. */
#ifndef CSE_WORKERS_LINKS_LINK_H
#define CSE_WORKERS_LINKS_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "csengine/status.h"

enum {
    CSE_MAX_HOSTS = 256,
    CSE_HOST_LINK_KEY_BYTES = 32,
    CSE_HOST_LINK_ADDRESS_BYTES = 128,
    CSE_HOST_LINK_MAX_BYTES = 4 << 20, /* of one frame */
};

typedef struct cse_host_link_options {
    int host, host_count;
    /* "10.0.0.1:7000", "[fd00::1]:7000" or "name:7000" of each host, its own among them, where it
     * listens (port 0: one that is free); "" or NULL: not linked to that host, or, its own: it does
     * not listen. A host connects to those with lower numbers; the address of one with a higher
     * number is not looked into, it only says that it may connect. Of the link mpi all are the
     * token of the run's carriers (carrier_names.h). Copied. */
    const char *const *addresses;
    unsigned char key[CSE_HOST_LINK_KEY_BYTES];
    uint64_t session; /* only hosts with the same one are let in */
    bool plain;       /* frames are authentic, but can be read by others */
    int wake;         /* a descriptor that ends a wait when it is readable; -1: none */
} cse_host_link_options;

typedef enum cse_host_link_event_kind {
    /* Until the deadline, or `wake` is readable, or a host has room for a frame again to which one
     * could not be sent. */
    CSE_HOST_LINK_NOTHING,
    CSE_HOST_LINK_CONNECTED, /* the host can be sent to; frames of it may follow */
    CSE_HOST_LINK_LOST,      /* the connection ended; it is made again by itself */
    CSE_HOST_LINK_FRAME,     /* `bytes` is a view, valid until the next `next` or `close` */
} cse_host_link_event_kind;

typedef struct cse_host_link_event {
    cse_host_link_event_kind kind;
    int host;
    const unsigned char *bytes;
    size_t size;
} cse_host_link_event;

typedef struct cse_host_link_counts {
    int64_t frames_sent, frames_received, bytes_sent, bytes_received; /* as on the wire */
    /* Of a host: connections to it that were refused, and frames that were not authentic. Of the
     * own host: connections that were accepted and refused before it was known whose they are. */
    int64_t refused;
    int64_t retransmits; /* segments that the kernel sent again; 0 where the link has none */
} cse_host_link_counts;

typedef struct cse_host_link_state cse_host_link_state;

typedef struct cse_host_link {
    const char *name;
    const char *summary;

    /* CSE_UNAVAILABLE when its own address cannot be listened at; CSE_CONFIG for an address that is
     * none. Never waits for other hosts. */
    cse_status (*open)(const cse_host_link_options *options, cse_host_link_state **state);
    /* Queues one frame of two parts that arrive as one; both are copied, or sent before it returns.
     * CSE_TEMPORARY: there is no room until some of the queue is sent, `next` tries that;
     * CSE_UNAVAILABLE: not connected. `second` may be NULL. */
    cse_status (*send)(cse_host_link_state *state, int host, const void *first, size_t first_bytes,
                       const void *second, size_t second_bytes);
    /* Sends what is queued and waits for the next event, at most until the deadline (monotonic
     * clock); a deadline in the past does not wait. */
    cse_status (*next)(cse_host_link_state *state, int64_t deadline_ns, cse_host_link_event *event);
    /* While held, no frame of that host is taken from its connection: the sender is slowed down in
     * its turn. The end of its connection may be noticed late. */
    void (*hold)(cse_host_link_state *state, int host, bool held);
    bool (*connected)(const cse_host_link_state *state, int host);
    /* Whether all frames to the host have left this process. */
    bool (*drained)(const cse_host_link_state *state, int host);
    cse_host_link_counts (*counts)(const cse_host_link_state *state, int host);
    /* Where this host listens, with the port that it got; "" where it does not. Valid until it is
     * closed. */
    const char *(*address)(const cse_host_link_state *state);
    /* Waits a short, bounded time until what is queued is sent. */
    void (*close)(cse_host_link_state **state);
} cse_host_link;

/* The links in name order, ended by NULL; written by autogen.sh. */
extern const cse_host_link *const cse_host_links[];

/* The link of that name; NULL: "tcp". CSE_CONFIG when there is none. */
cse_status cse_host_link_select(const char *name, const cse_host_link **link);

#endif
