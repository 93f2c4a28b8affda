/* The types of live events and the state of a job, shared by all files of the feed. */
#ifndef CSE_DASHBOARD_DATA_FEED_TYPES_H
#define CSE_DASHBOARD_DATA_FEED_TYPES_H

#include <stdbool.h>

#include "store/states.h"

/* X(bit, type); what no client selects is the last one */
#define CSE_FEED_TYPES(X) \
    X(0, "state")         \
    X(1, "metric")        \
    X(2, "closure")       \
    X(3, "checkpoint")    \
    X(4, "log")           \
    X(5, "topology")      \
    X(6, "numerics")      \
    X(7, "phase")         \
    X(8, "alert")         \
    X(9, "audit")         \
    X(10, "gap")

enum {
    CSE_FEED_ALL = 0x7ff,
    CSE_FEED_STATE = 1 << 0,
    CSE_FEED_LOG = 1 << 4,
    CSE_FEED_GAP = 1 << 10,
};

/* The bit of a type, 0 when there is none of that name. */
unsigned cse_feed_type(const char *name);
/* The name of a bit's type; "" when there is none. */
const char *cse_feed_type_name(unsigned type);

/* The state of a job, for its channel. */
typedef struct cse_feed_job {
    char model_dir[4096];
    bool ended; /* no event will follow until the job is started again */
    cse_run_state state;
    char reason[32], message[1024];
} cse_feed_job;

#endif
