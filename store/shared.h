/* A store that is open for writing: members that callers and the writer's thread share, and those
 * of the thread alone. Callers append rows to `queue` under the lock; the thread swaps it for an
 * empty one and does the rest without the lock. */
#ifndef CSE_STORE_SHARED_H
#define CSE_STORE_SHARED_H

#include <pthread.h>
#include <stdio.h>

#include "store/buckets.h"
#include "store/database.h"
#include "store/failure_journal.h"
#include "store/options.h"
#include "store/phase_report.h"
#include "store/publisher.h"
#include "store/reserve.h"
#include "store/run_lock.h"

typedef struct cse_store cse_store;

struct cse_store {
    cse_store_options options; /* defaults filled in */
    int64_t attempt;
    cse_store_past past;
    pthread_t thread;

    pthread_mutex_t mutex; /* guards the members up to the blank line */
    pthread_cond_t wake, answered_now;
    cse_text queue;
    cse_run_state state;
    cse_phase_report phase;
    int64_t changed_ms;   /* of the last change of state or phase: each has a time of its own */
    int64_t sampled_ms;   /* of the last sample of the processes, likewise */
    int64_t recovered_ms; /* until when recoveries have been counted */
    int64_t next_id[CSE_ROW_COUNT]; /* of kinds whose rows have an id */
    char **series;                  /* names by number */
    int series_count, series_capacity;
    cse_dropped dropped;
    bool urgent, closing;
    int64_t mark, kept_mark;  /* of the rows in the queue; of those that are written */
    uint64_t asked, answered; /* flushes */
    cse_status answer;
    char answer_text[256];

    /* Used by the writer's thread alone. */
    cse_database *database; /* NULL: removed under the run, and not made anew yet */
    cse_run_lock lock;
    int64_t guarded_ns, guard_warned_ns; /* last look, last warning (store/guard.h) */
    cse_publisher *publisher;
    FILE *log; /* model_dir/logs/attempt_N.log; NULL when it cannot be written */
    cse_buckets *buckets;
    cse_text taken, pending; /* rows from the queue; rows to be written */
    cse_text json, payload;
    cse_point *points; /* of the metric event being built */
    int point_count, point_capacity;
    int64_t last_step, written_step;
    int64_t pending_mark; /* of the rows in `pending` */
    int64_t pruned_event;
    char *model_dir;
    bool sweep;                  /* the files of checkpoints are to be checked */
    int64_t commit_ns, retry_ns; /* time of the next commit, of the next retry */
    bool failing, matters_lost;  /* the last write failed; so did that of KEPT rows alone */
    cse_reserve reserve;
    cse_failure_journal journal;
    int64_t warned_ns; /* 0: never */
    int64_t failing_since_ms;
    cse_latest *latest; /* by series */
    int latest_count, latest_capacity;
    cse_dropped lost; /* not yet reported in a gap event */
};

#endif
