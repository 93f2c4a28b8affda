/* Live events: from the processes of runs to any number of event streams.
 *
 * A run publishes each event as it happens and writes it to its store a moment later, with the same
 * number. A channel, one for each run that somebody watches, keeps the newest events in a ring:
 * from the publisher when they come in order, from the store where some are missing. A stream has a
 * number up to which it has seen all; what it wants next is in the ring or, when it is behind, in
 * the store. So nothing is kept for a slow stream but that number, and who falls too far behind is
 * told of a gap.
 *
 *     run ══ PUB/SUB ══► channel ring ──► streams that keep up
 *      └──► run.db ◄──── what is missing ──► streams that come back */
#ifndef CSE_DASHBOARD_FEED_H
#define CSE_DASHBOARD_FEED_H

#include "dashboard/readers.h"
#include "dashboard/route.h"

typedef struct cse_feed cse_feed;

/* How a job stands, for its channel. */
typedef struct cse_feed_job {
    char model_dir[4096];
    bool ended; /* nothing will happen any more, until somebody starts it again */
    cse_run_state state;
    char reason[32], message[1024];
} cse_feed_job;

typedef struct cse_feed_options {
    cse_readers *readers; /* borrowed */
    /* Fills `job`; false when there is no such job. Called from any thread, with no lock held. */
    bool (*look)(void *self, const char *id, cse_feed_job *job);
    void *self;
    int64_t heartbeat_ms; /* 0: 15000 */
} cse_feed_options;

cse_status cse_feed_new(const cse_feed_options *options, cse_feed **feed);
/* Ends every stream; they are still to be read and closed. */
void cse_feed_stop(cse_feed *feed);
/* After the last stream was closed. */
void cse_feed_destroy(cse_feed **feed);

/* X(bit, type): what can be asked for */
#define CSE_FEED_TYPES(X) \
    X(0, "state")         \
    X(1, "metric")        \
    X(2, "closure")       \
    X(3, "checkpoint")    \
    X(4, "log")           \
    X(5, "topology")      \
    X(6, "numerics")      \
    X(7, "gap")

enum { CSE_FEED_ALL = 0xff, CSE_FEED_LOG = 1 << 4, CSE_FEED_GAP = 1 << 7, CSE_FEED_NEW = -1 };

typedef struct cse_feed_request {
    const char *job;
    unsigned types; /* bits of CSE_FEED_TYPES */
    int64_t after;  /* events with greater numbers; CSE_FEED_NEW: those that come from now on */
    /* Of log lines; NULL and negative: any. */
    const char *role, *level;
    int64_t rank;
} cse_feed_request;

/* The bit of a type, 0 when there is none of that name. */
unsigned cse_feed_type(const char *name);
/* The name of a bit's type; "" when there is none. */
const char *cse_feed_type_name(unsigned type);

/* Fills the answer with the stream; 204 when the run has ended and the asker has seen all of it,
 * 404 when there is no such job. */
void cse_feed_answer(cse_feed *feed, const cse_feed_request *request, cse_answer *answer);

/* A change of state that the server made, told to the job's streams without a number. `payload` is
 * JSON. */
void cse_feed_post_state(cse_feed *feed, const char *job, const char *payload);

typedef struct cse_feed_figures {
    int channels, streams;
    int64_t events, gaps;
} cse_feed_figures;
cse_feed_figures cse_feed_figures_now(cse_feed *feed);

#endif
