/* What feed.c (the thread that fills channels) and event_stream.c (the streams that drain them)
 * share. */
#ifndef CSE_DASHBOARD_FEED_INTERNAL_H
#define CSE_DASHBOARD_FEED_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "dashboard/feed.h"

enum {
    CSE_RING_EVENTS = 4096,
    CSE_RING_BYTES = 8 << 20,
    CSE_PENDING_EVENTS = 1024,
    CSE_MOST_BEHIND = 20000, /* events that are read from the store before a gap is told instead */
};

typedef struct cse_live_event {
    int64_t id; /* 0: made by the server, without a number */
    unsigned type;
    int64_t came_ns;
    char *json;
    size_t size;
} cse_live_event;

typedef struct cse_channel cse_channel;
typedef struct cse_event_client cse_event_client;

struct cse_channel {
    cse_feed *feed;
    cse_channel *next;
    char job[65];
    void *socket; /* used by the feed's thread alone */
    char endpoint[256];
    int64_t looked_ns, unused_ns;
    bool store_read; /* the ring goes on from what the store had */

    pthread_mutex_t lock; /* of what follows */
    cse_live_event ring[CSE_RING_EVENTS];
    int64_t ring_first, ring_end; /* positions, counted from the channel's beginning */
    size_t ring_bytes;
    int64_t complete_from; /* every event with a greater number is or was in the ring */
    int64_t last_id;
    cse_live_event pending[CSE_PENDING_EVENTS]; /* came too early: some before them are missing */
    int pending_count;
    cse_feed_job about;
    bool ended; /* and all that the store has is in the ring */
    bool closing;
    cse_event_client *clients;
    int client_count;
};

struct cse_event_client {
    cse_channel *channel;
    cse_event_client *next, *previous;
    void (*wake)(void *waker);
    void *waker;
    unsigned types;
    int64_t last_id;        /* all up to this was sent or is not wanted */
    int64_t position, born; /* in the ring: of the next event; its end when the stream began */
    bool heartbeat_due, end_sent, greeted;
    char *role, *level;
    int64_t rank;
    cse_text out;
    size_t sent; /* of `out` */
};

struct cse_feed {
    cse_feed_options options;
    void *context;
    int wake_descriptor;
    pthread_t thread;
    pthread_mutex_t lock; /* of the list of channels and the figures; taken before a channel's */
    cse_channel *channels;
    bool stopping, runs;
    atomic_llong events, gaps;
    int64_t heartbeat_ns; /* of the thread alone */
};

/* The job's channel, made when there is none, with one more client counted; NULL when the feed is
 * stopping. */
cse_channel *cse_feed_channel(cse_feed *feed, const char *job, const cse_feed_job *about);
void cse_feed_nudge(cse_feed *feed);

/* With the channel's lock held: has its clients read that want one of `types`. */
void cse_channel_wake(cse_channel *channel, unsigned types);

#endif
