/* The live events of one run that has subscribers: a ring of the newest events, the events that
 * arrived out of order, and the streams that read the ring. */
#ifndef CSE_DASHBOARD_DATA_CHANNEL_H
#define CSE_DASHBOARD_DATA_CHANNEL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "dashboard/data/feed_types.h"

enum {
    CSE_RING_EVENTS = 4096,
    CSE_RING_BYTES = 8 << 20,
    CSE_PENDING_EVENTS = 1024,
};

typedef struct cse_live_event {
    int64_t id; /* 0: made by the server, without a number */
    unsigned type;
    int64_t came_ns;
    char *json;
    size_t size;
} cse_live_event;

/* Of all channels. */
typedef struct cse_feed_counters {
    atomic_llong events, gaps;
} cse_feed_counters;

/* The part of a stream that its channel sees; a list under the channel's lock. */
typedef struct cse_channel_client {
    struct cse_channel_client *next, *previous;
    void (*wake)(void *waker);
    void *waker;
    unsigned types;
    bool heartbeat_due;
} cse_channel_client;

typedef struct cse_channel {
    cse_feed_counters *counters;
    struct cse_channel *next;
    char job[65];

    /* Of the feed's thread alone. */
    void *socket;
    char endpoint[256];
    int64_t polled_ns, unused_ns;

    pthread_mutex_t lock; /* of what follows */
    bool store_read;      /* the store was read: the ring continues from its newest event */
    cse_live_event ring[CSE_RING_EVENTS];
    int64_t ring_first, ring_end; /* positions, counted from the channel's beginning */
    size_t ring_bytes;
    int64_t complete_from; /* every event with a greater number is or was in the ring */
    int64_t last_id;
    cse_live_event pending[CSE_PENDING_EVENTS]; /* out of order: some before them are missing */
    int pending_count;
    cse_feed_job about;
    bool ended; /* the run has ended, and the ring holds all that the store has */
    bool closing;
    cse_channel_client *clients;
    int client_count;
} cse_channel;

/* `counters` is borrowed. */
cse_channel *cse_channel_new(const char *job, const cse_feed_job *about,
                             cse_feed_counters *counters);
/* After the last client. The socket is the caller's to close. */
void cse_channel_destroy(cse_channel **channel);

/* All that follow: with the channel's lock held. */

/* Wakes the clients that want one of `types`. */
void cse_channel_wake(cse_channel *channel, unsigned types);
/* Appends to the ring, dropping the oldest; takes the event's text over. */
void cse_channel_push(cse_channel *channel, const cse_live_event *event);
/* Takes an event as the run published it: into the ring when it is the next, else into
 * `pending`. */
void cse_channel_take(cse_channel *channel, const char *type, const char *json, size_t size);
/* Moves pending events into the ring as far as their numbers follow each other; `impatient`: also
 * those after missing events, which become a gap event. Returns the types that were added. */
unsigned cse_channel_push_pending(cse_channel *channel, bool impatient);

#endif
