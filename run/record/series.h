/* The named values of training steps, as series of points in the run store.
 *
 * A value that does not change (a constant learning rate, a loss scale) is stored at the ends of
 * the level part and at some points between: the line through the points is the same. */
#ifndef CSE_RUN_RECORD_SERIES_H
#define CSE_RUN_RECORD_SERIES_H

#include "run/session/observer.h"
#include "store/store.h"

/* Series of a step. A step's further values are left out: a log line names the first, and the key
 * dropped_series of the run store counts them. */
enum { CSE_MOST_SERIES = 256 };

typedef struct cse_series cse_series;

/* `store` is borrowed. */
cse_series *cse_series_new(cse_store *store);
void cse_series_destroy(cse_series **series);

/* A value that no training step changes. Before the first execution. */
void cse_series_add_constant(cse_series *series, const char *name, double value);

/* An execution begins: the metrics that its step fetches become series. Of an evaluation nothing is
 * stored. `step` is borrowed until the next call. */
void cse_series_start(cse_series *series, const cse_step *step, const cse_session_report *report);
/* A step of it was committed, at Unix time `time_ms`. */
void cse_series_add(cse_series *series, const cse_record *record, int64_t time_ms);

/* The scalar that `fetch` delivers, int32 or float32. */
double cse_fetched_number(const cse_fetch_entry *fetch, const unsigned char *fetched);

#endif
