/* Parameters of a run store: marks of its file, how much it keeps, how often it writes. */
#ifndef CSE_STORE_OPTIONS_H
#define CSE_STORE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CSE_STORE_VERSION = 7,                 /* PRAGMA user_version */
    CSE_STORE_OLDEST_VERSION = 1,          /* that is read, and brought up by a new attempt: it has
                                              no table of kernels; version 2 does not count the
                                              finite points of a bucket, version 3 has no table of
                                              goodput, version 4 no host of a log line,
                                              version 5 rows of each attempt for one step,
                                              version 6 no chain of digests */
    CSE_STORE_APPLICATION_ID = 0x43534531, /* PRAGMA application_id, "CSE1" */
    CSE_STORE_KEPT_EVENTS = 4000, /* newest ones; states, checkpoints and gaps are all kept */
    CSE_STORE_KEPT_TOPOLOGY_MS = 3600000,
    CSE_STORE_KEPT_SPANS = 200000,
    CSE_STORE_KEPT_KERNELS = 100000, /* rows: the newest samples */
};

/* Processes that write one after the other, because the one before died. */
typedef struct cse_succession {
    bool takes_over;       /* the run goes on: its last process died, and this is the next */
    int64_t first_process; /* its pid: it starts the next one when this one dies; 0: none */
} cse_succession;

/* What the store held of earlier attempts when it was opened. */
typedef struct cse_store_past {
    int64_t last_step; /* the highest that was stored; 0: none */
    int64_t time_ms;   /* until when the last one's account of time goes; 0: it has none */
} cse_store_past;

typedef struct cse_store_options {
    const char *events_endpoint; /* where events are published; NULL: nowhere */
    int64_t publish_interval_ms; /* 0: 25 */
    int64_t commit_interval_ms;  /* 0: 250 */
    int64_t look_interval_ms;    /* at the files, whether they are still there; 0: 1000 */
    size_t queue_bytes;          /* 0: 8 MiB */
    cse_succession succession;
} cse_store_options;

#endif
