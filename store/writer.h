/* Inside of a store that is written: what the callers and the writer's thread share, and what is
 * the thread's own. */
#ifndef CSE_STORE_WRITER_H
#define CSE_STORE_WRITER_H

#include <pthread.h>
#include <stdio.h>

#include "store/buckets.h"
#include "store/database.h"
#include "store/publisher.h"
#include "store/store.h"

/* What had no room. */
typedef struct cse_dropped {
    int64_t points, logs, closures, samples, events;
} cse_dropped;

/* The newest point of a series in this attempt, and the least value so far. */
typedef struct cse_latest {
    const char *name; /* borrowed; NULL: no point yet */
    int64_t step;
    double value, least;
} cse_latest;

struct cse_store {
    cse_store_options options; /* defaults filled in */
    int lock;                  /* descriptor of run.lock */
    int64_t attempt;
    pthread_t thread;

    pthread_mutex_t mutex; /* over all down to the blank line */
    pthread_cond_t wake, answered_now;
    cse_text queue;
    cse_run_state state;
    int64_t next_id[CSE_ROW_COUNT]; /* of kinds with an id of their own */
    char **series;                  /* names by number */
    int series_count, series_capacity;
    cse_dropped dropped;
    bool urgent, closing;
    uint64_t asked, answered; /* flushes */
    cse_status answer;
    char answer_text[256];

    /* The thread's own. */
    cse_database *database;
    cse_publisher *publisher;
    FILE *log; /* model_dir/logs/attempt_N.log; NULL when it cannot be written */
    cse_buckets *buckets;
    cse_text taken, pending; /* rows from the queue; rows to be written */
    cse_text json, payload;
    cse_point *points; /* of the metric event in the making */
    int point_count, point_capacity;
    int64_t last_step, written_step;
    int64_t pruned_event;
    char *model_dir;
    bool sweep;                  /* files of checkpoints are to be looked for */
    int64_t commit_ns, retry_ns; /* when to write next */
    bool failing, matters_lost;  /* the last write failed; even that of what matters most */
    char *reserve_path;          /* a file whose room is given back when the disk is full */
    bool has_reserve;
    int64_t warned_ns; /* 0: never */
    int64_t failing_since_ms;
    int behind;       /* descriptor of run.behind (store/failure_journal.h), -1 */
    bool behind_says; /* that something is missing */
    uint64_t behind_writes;
    cse_latest *latest; /* by series */
    int latest_count, latest_capacity;
    cse_dropped lost; /* not yet noted in a gap event */
};

/* The body of the thread; `self` is the store. */
void *cse_writer_main(void *self);

/* Takes some room of the disk, and gives it back. */
void cse_store_reserve_make(cse_store *store);
void cse_store_reserve_release(cse_store *store);

/* Adds the rows of checkpoints whose file is gone, now marked as deleted, to those taken from the
 * queue. Of the writer's thread. */
void cse_store_sweep(cse_store *store);

/* Counts a row that is dropped. */
void cse_dropped_count(cse_dropped *dropped, const cse_row *row);

#endif
