/* A carrier: one process a host, which hands the bytes of the movers' connections over to something
 * that moves messages between hosts (the *wire*: MPI). Movers connect to it, and it to them, by
 * local sockets (workers/links/carrier_names.h); each connection becomes a stream between two
 * carriers.
 *
 * It has no key and looks into no byte: what the two ends of a stream say to each other, who they
 * are and whether a frame is authentic is theirs alone, as over a cable. So it may be killed, or
 * killed together with all others, at any time: connections end, and are made again by the links.
 *
 * Memory is bounded: a stream may have CSE_CARRIER_WINDOW_BYTES on their way that the other mover
 * has not taken; what was taken is credited to its sender. */
#ifndef CSE_WORKERS_CARRIER_CARRIER_H
#define CSE_WORKERS_CARRIER_CARRIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "csengine/status.h"
#include "workers/links/link.h"

enum {
    CSE_CARRIER_MESSAGE_BYTES = 128 << 10, /* most of one message, its head included */
    CSE_CARRIER_WINDOW_BYTES = 4 << 20,
};

/* Messages between two hosts arrive whole, once and in order. */
typedef struct cse_carrier_wire {
    void *self;
    /* Room for the next message to that host; NULL: none until others have left. */
    unsigned char *(*room)(void *self, int host);
    /* The room that was got last holds `size` bytes. */
    void (*send)(void *self, int host, size_t size);
    /* A message that has arrived, valid until the next call; NULL: none. */
    const unsigned char *(*take)(void *self, int *host, size_t *size);
} cse_carrier_wire;

typedef struct cse_carrier_options {
    const char *token; /* of carrier_names.h */
    int host;
    bool others[CSE_MAX_HOSTS]; /* hosts that have a carrier */
    cse_carrier_wire wire;
} cse_carrier_options;

typedef struct cse_carrier cse_carrier;

/* CSE_UNAVAILABLE: another carrier is there. */
cse_status cse_carrier_open(const cse_carrier_options *options, cse_carrier **carrier);
/* Moves what can be moved, after waiting for sockets for at most so long. Whether anything was. */
bool cse_carrier_turn(cse_carrier *carrier, int64_t wait_ns);
int cse_carrier_stream_count(const cse_carrier *carrier);
void cse_carrier_close(cse_carrier **carrier);

#endif
