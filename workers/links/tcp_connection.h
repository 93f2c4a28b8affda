/* One TCP connection between two hosts: its handshake, the frames that wait to be sent, and the
 * bytes that came. Nothing in it waits; whoever has it asks the kernel which one can go on. */
#ifndef CSE_WORKERS_LINKS_TCP_CONNECTION_H
#define CSE_WORKERS_LINKS_TCP_CONNECTION_H

#include "workers/links/frame_cipher.h"
#include "workers/links/frame_ring.h"
#include "workers/links/handshake.h"

typedef struct cse_tcp_connection {
    cse_frame_cipher sends, receives; /* aligned */
    int socket;
    bool connecting; /* until the kernel says that it is there */
    bool open;       /* the handshake is over */
    bool ended;      /* no more bytes come */
    bool broken;     /* nothing can be sent */
    bool full;       /* the kernel took no more */
    bool crowded;    /* there was no room for a frame; */
    bool roomy;      /* there is room again; for whoever has it to clear */
    uint64_t number; /* given by whoever has it */
    int64_t begun_ns, looked_ns;
    int silent_looks;
    cse_handshake handshake;
    unsigned char greeting[CSE_HANDSHAKE_MAX_BYTES];
    size_t greeting_bytes, sent_bytes; /* of what came, and of handshake.out */
    cse_frame_ring queue;
    unsigned char *in;
    size_t in_begin, in_end, in_capacity;
    cse_host_link_counts *counts; /* of its host, once it is open */
} cse_tcp_connection;

/* Takes the socket, which is non-blocking. `peer`: as in cse_handshake_begin. */
cse_tcp_connection *cse_tcp_connection_new(int socket, const cse_handshake_side *side, int peer);
void cse_tcp_connection_destroy(cse_tcp_connection **connection);

/* Goes on with the handshake, as far as it can; `open` is set at its end. CSE_UNAVAILABLE: the
 * other side ended it; others: refused, as in cse_handshake_take. */
cse_status cse_tcp_connection_greet(cse_tcp_connection *connection);
/* Events of poll(2) that it waits for before it is open. */
short cse_tcp_connection_awaits(const cse_tcp_connection *connection);

/* See send of link.h. */
cse_status cse_tcp_connection_queue(cse_tcp_connection *connection, const void *first,
                                    size_t first_bytes, const void *second, size_t second_bytes);
/* Gives the kernel what is queued, as much as it takes. */
void cse_tcp_connection_flush(cse_tcp_connection *connection);
/* Takes from the kernel what came, as much as there is room for. */
void cse_tcp_connection_receive(cse_tcp_connection *connection);
/* Whether bytes that came are a whole frame. */
bool cse_tcp_connection_has_frame(const cse_tcp_connection *connection);
/* The next frame, valid until bytes are taken again. CSE_TEMPORARY: there is none yet;
 * CSE_UNAVAILABLE: there will be none; CSE_DATA: it is not authentic, and nothing after it is. */
cse_status cse_tcp_connection_frame(cse_tcp_connection *connection, const unsigned char **bytes,
                                    size_t *size);
/* Looks once a second whether the other side answers; false: it has not for long. */
bool cse_tcp_connection_answers(cse_tcp_connection *connection, int64_t now_ns);

#endif
