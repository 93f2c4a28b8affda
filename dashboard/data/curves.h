/* Series as columns: what the run store gives row by row, turned for those who draw it. */
#ifndef CSE_DASHBOARD_DATA_CURVES_H
#define CSE_DASHBOARD_DATA_CURVES_H

#include <stdint.h>

#include "engine/base/text.h"
#include "store/reader.h"

typedef struct cse_curves_head {
    const char *names; /* JSON array: every series of the run */
    const char *times; /* JSON array of the attempts' AttemptTime */
    int64_t attempts, last_event_id, dropped_series;
} cse_curves_head;

/* An answer in the making: Metrics of the API as JSON, or with `binary` in the form of
 * application/vnd.csengine.columns. `only_with_points`: attempts without any are left out. */
typedef struct cse_curves cse_curves;
cse_curves *cse_curves_new(bool binary, bool only_with_points);

/* Appends the series of a run; `more`: members that each of them gets, such as
 * ",\"replaced\":true", or "". */
cse_status cse_curves_read(cse_curves *curves, cse_store_reader *reader,
                           const cse_metrics_query *query, const char *more);
/* Likewise the points that a later start did again. */
cse_status cse_curves_read_replaced(cse_curves *curves, cse_store_reader *reader,
                                    const cse_metrics_query *query, const char *more);

/* Appends the whole to `out`. */
void cse_curves_end(cse_curves **curves, const cse_curves_head *head, cse_text *out);

#endif
