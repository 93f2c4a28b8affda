/* Series as columns: what the run store gives row by row, turned for those who draw it. */
#ifndef CSE_DASHBOARD_CURVES_H
#define CSE_DASHBOARD_CURVES_H

#include <stdint.h>

#include "engine/base/text.h"

typedef struct cse_curves_head {
    const char *names; /* JSON array: every series of the run */
    int64_t attempts, last_event_id, dropped_series;
} cse_curves_head;

/* `rows` is what cse_store_reader_metrics wrote. Appends Metrics of the API as JSON, or with
 * `binary` in the form of application/vnd.csengine.columns. */
cse_status cse_curves_turn(const char *rows, const cse_curves_head *head, bool binary,
                           cse_text *out);

#endif
