/* Reading the run store of a live run or of one that ended in any way. Reader and run never wait
 * for each other, and a reader changes nothing. A handle is used by one thread at a time. */
#ifndef CSE_STORE_READER_H
#define CSE_STORE_READER_H

#include <jansson.h>

#include "store/rows.h"
#include "store/states.h"
#include "store/store.h"

typedef struct cse_store_reader cse_store_reader;

/* CSE_NO_INPUT when model_dir has no run store, CSE_DATA when run.db is something else,
 * CSE_TEMPORARY when it is being created. */
cse_status cse_store_reader_open(const char *model_dir, cse_store_reader **reader);
void cse_store_reader_close(cse_store_reader **reader);

/* The status of a run. */
typedef struct cse_run_status {
    cse_run_state state;
    char reason[32]; /* of FAILED: a name in the table of states.h */
    char message[1024];
    int64_t since_ms, attempt, last_step; /* last_step -1: none */
    bool alive;                           /* its process holds run.lock */
    /* The process is gone without a terminal state: reported as FAILED, INTERRUPTED. */
    bool derived;
} cse_run_status;
cse_status cse_store_reader_status(cse_store_reader *reader, cse_run_status *status);
/* The same for a run of which the caller knows whether its process lives, since it is on another
 * host: not all shared file systems show run.lock there. */
cse_status cse_store_reader_status_of(cse_store_reader *reader, bool alive, cse_run_status *status);
/* The last step of the run in model_dir, for who asks for nothing else; -1: none. Fails as opening
 * a reader does. */
cse_status cse_store_last_step(const char *model_dir, int64_t *step);

/* The write-failure journal, owned by the caller; its members are described in
 * store/failure_journal.h. NULL when the store is complete. */
json_t *cse_store_reader_failure_journal(cse_store_reader *reader);

/* Appends the value of a key of table `run`; false when it is unknown. */
bool cse_store_reader_key(cse_store_reader *reader, const char *key, cse_text *value);

/* Which rows. */
typedef struct cse_store_filter {
    const char *column;
    const char *const *values; /* accepted values; ended by NULL */
} cse_store_filter;

typedef struct cse_store_query {
    int64_t after;  /* only rows whose id (first column) is larger; 0: all */
    int64_t before; /* only rows whose id is smaller; 0: all */
    int64_t limit;  /* 0: 1000 */
    bool newest_first;
    int64_t attempt;               /* 0: all; for tables that have the column */
    int64_t first_step, last_step; /* last_step 0: to the end; likewise */
    bool bad;                      /* of numerics: only those that have a NaN, an infinity or a
                                    * saturated value */
    cse_store_filter filters[4];   /* column NULL: none */
} cse_store_query;

/* Calls `take` with each row, columns in the order of store/rows.h; its texts and blobs
 * are valid during the call. Artefacts come without content. CSE_USAGE for a filter on an unknown
 * column. */
cse_status cse_store_reader_rows(cse_store_reader *reader, cse_row_kind kind,
                                 const cse_store_query *query,
                                 void (*take)(void *self, const cse_row *row), void *self);
/* The same as a JSON array of objects, appended to `out`. */
cse_status cse_store_reader_json(cse_store_reader *reader, cse_row_kind kind,
                                 const cse_store_query *query, cse_text *out);

/* Table `run` as one JSON object of texts, with "status": state, reason, message, since_ms,
 * attempt, last_step, alive, derived. */
cse_status cse_store_reader_run_json(cse_store_reader *reader, cse_text *out);

/* Appends an artefact's bytes; CSE_NO_INPUT when there is none of that name. */
cse_status cse_store_reader_artefact(cse_store_reader *reader, const char *name, cse_text *content,
                                     char *media_type, size_t size);

/* The newest point of a series; false when there is none. */
bool cse_store_reader_last_point(cse_store_reader *reader, const char *series, cse_point *point);

/* The newest point of a series, by its number, before a step; false when there is none. */
bool cse_store_reader_point_before(cse_store_reader *reader, int series, int64_t step,
                                   cse_point *point);

/* The first points of a series before a step, or the newest, which come in descending order.
 * Returns how many there are. */
typedef struct cse_end_points {
    cse_point *points;
    int most;
    bool newest;
} cse_end_points;
int cse_store_reader_end_points(cse_store_reader *reader, const char *series, int64_t step,
                                const cse_end_points *wanted);

typedef struct cse_metrics_query {
    const char *const *names;      /* ended by NULL; NULL: all */
    int64_t attempt;               /* 0: all */
    int64_t first_step, last_step; /* last_step 0: to the end */
    int64_t max_points;            /* of each series and attempt; 0: 1000 */
} cse_metrics_query;

/* One series in one attempt. */
typedef struct cse_curve {
    const char *name;
    int64_t attempt;
    int64_t bucket_points; /* in each bucket but the last; 1: its rows are points */
    int level;             /* 0: points; else the least k for which 8^k is bucket_points or more */
} cse_curve;

/* A point (count 1) or a bucket. `finite` of its points are finite: minimum, maximum and sum are
 * of those; minimum and maximum are NaN where there are none. A last value that is no number is
 * NaN. */
typedef struct cse_curve_row {
    int64_t first_step, last_step, count, finite, time_ms;
    double minimum, maximum, sum, last;
} cse_curve_row;

typedef void cse_curve_take(void *self, const cse_curve *curve, const cse_curve_row *row);

/* Series over a range of steps, none of more than max_points rows: the points themselves where they
 * are few enough, else buckets of as many neighbouring points that more than half of max_points
 * remain. Calls `take` for each curve with row NULL, then with each of its rows by step; a curve's
 * name is valid until the next curve. */
cse_status cse_store_reader_metrics(cse_store_reader *reader, const cse_metrics_query *query,
                                    cse_curve_take *take, void *self);

/* Internal to store/: the SQLite handle, and the failure of a query with its message. */
struct sqlite3 *cse_store_reader_handle(cse_store_reader *reader);
cse_status cse_store_reader_fail(cse_store_reader *reader);

#endif
