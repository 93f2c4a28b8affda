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

/* Reads the series and appends Metrics of the API as JSON, or with `binary` in the form of
 * application/vnd.csengine.columns. */
cse_status cse_curves_add(cse_store_reader *reader, const cse_metrics_query *query,
                          const cse_curves_head *head, bool binary, cse_text *out);

#endif
