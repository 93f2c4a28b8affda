/* An event stream as the answer to a request. */
#ifndef CSE_DASHBOARD_DATA_EVENT_STREAM_H
#define CSE_DASHBOARD_DATA_EVENT_STREAM_H

#include "dashboard/api/route.h"
#include "dashboard/data/feed.h"

enum { CSE_FEED_NEW = -1 };

typedef struct cse_feed_request {
    const char *job;
    unsigned types; /* bits of CSE_FEED_TYPES */
    int64_t after;  /* events with greater numbers; CSE_FEED_NEW: those that come from now on */
    /* Of log lines; NULL and negative: any. */
    const char *role, *level, *host;
    int64_t rank;
} cse_feed_request;

/* Fills the answer with the stream; 204 when the run has ended and the client has seen all of it,
 * 404 when there is no such job. */
void cse_feed_answer(cse_feed *feed, const cse_feed_request *request, cse_answer *answer);

#endif
