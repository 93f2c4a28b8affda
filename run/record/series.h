/* The named values of training steps, as series of points in the run store.
 *
 * While a value does not change (learning rate, loss scale), only the first and the last point and
 * every 64th step are stored: the line through the points is the same. */
#ifndef CSE_RUN_RECORD_SERIES_H
#define CSE_RUN_RECORD_SERIES_H

#include "run/session/observer.h"
#include "store/store.h"

/* Most series of a step. Further values are dropped: a log line names the first of them, and the
 * key dropped_series of the run store counts them. */
enum { CSE_MOST_SERIES = 256 };

typedef struct cse_series cse_series;

/* `store` is borrowed. */
cse_series *cse_series_new(cse_store *store);
void cse_series_destroy(cse_series **series);

/* Adds a constant series. Called before the first execution. */
void cse_series_add_constant(cse_series *series, const char *name, double value);

/* Starts an execution: the metrics that its step fetches become series. Nothing is stored for an
 * evaluation. `step` is borrowed until the next call. */
void cse_series_start(cse_series *series, const cse_step *step, const cse_session_report *report);
/* The run goes on from an earlier attempt, with this step: its curves go on where the store has
 * them, so that the points are those of a run that nothing ended. */
void cse_series_go_on(cse_series *series, const char *model_dir, int64_t first_step);
/* The run stands still: the next rate begins with the step after. */
void cse_series_pause(cse_series *series);
/* Stores the points of a committed step; `time_ms` is Unix time. */
void cse_series_add(cse_series *series, const cse_record *record, int64_t time_ms);

/* The scalar that `fetch` delivers, int32 or float32. */
double cse_fetched_number(const cse_fetch_entry *fetch, const unsigned char *fetched);

#endif
