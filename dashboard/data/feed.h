/* Live events: from the processes of runs to any number of event streams.
 *
 * A run publishes each event as it happens and writes it to its store a moment later, with the same
 * number. A channel, one for each run that has subscribers, keeps the newest events in a ring: from
 * the publisher when they arrive in order, from the store where some are missing. A stream holds
 * the number of the last event it has sent; the next one is in the ring or, when the stream lags,
 * in the store. So a slow stream costs no memory beyond that number and one buffer; a stream that
 * lags too far gets a gap event.
 *
 *     run ══ PUB/SUB ══► channel ring ──► streams that keep up
 *      └──► run.db ─────── missing events ──► streams that lag or reconnect */
#ifndef CSE_DASHBOARD_DATA_FEED_H
#define CSE_DASHBOARD_DATA_FEED_H

#include "dashboard/data/channel.h"
#include "dashboard/data/readers.h"

typedef struct cse_feed cse_feed;

typedef struct cse_feed_options {
    cse_readers *readers; /* borrowed */
    /* Fills `job`; false when there is no such job. Called from any thread, with no lock held. */
    bool (*find_job)(void *self, const char *id, cse_feed_job *job);
    void *self;
    int64_t heartbeat_ms; /* 0: 15000 */
} cse_feed_options;

cse_status cse_feed_new(const cse_feed_options *options, cse_feed **feed);
/* Ends every stream; they are still to be read and closed. */
void cse_feed_stop(cse_feed *feed);
/* After the last stream was closed. */
void cse_feed_destroy(cse_feed **feed);

/* For streams. The job's channel, created when there is none, with one more client counted; NULL
 * when the feed is stopping or there are too many channels. */
cse_channel *cse_feed_channel(cse_feed *feed, const char *job, const cse_feed_job *about);
/* Has the feed's thread poll its channels now. */
void cse_feed_wake(cse_feed *feed);
cse_readers *cse_feed_readers(const cse_feed *feed);
bool cse_feed_find_job(const cse_feed *feed, const char *id, cse_feed_job *job);

/* Sends a change of state that the server made to the job's streams, without a number. `payload` is
 * JSON. */
void cse_feed_post_state(cse_feed *feed, const char *job, const char *payload);

typedef struct cse_feed_figures {
    int channels, streams;
    int64_t events, gaps;
} cse_feed_figures;
cse_feed_figures cse_feed_figures_now(cse_feed *feed);

#endif
