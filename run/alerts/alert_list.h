/* The alerts of a run as JSON, for the command and the API: an array of {"condition", "values",
 * "begins", "step", "time_ms"} by time, which is the caller's. */
#ifndef CSE_RUN_ALERTS_ALERT_LIST_H
#define CSE_RUN_ALERTS_ALERT_LIST_H

#include <jansson.h>

#include "run/alerts/alert_watch.h"

/* One of them. */
json_t *cse_alert_json(const cse_alert_change *change);

/* The first `most` of them (0: all), and how many there are. */
typedef struct cse_alert_list {
    size_t most;
    json_t *alerts; /* NULL after a failure */
    int64_t total;
} cse_alert_list;

/* Those that were told. */
cse_status cse_alerts_told(cse_store_reader *reader, cse_alert_list *list);

/* Those that these conditions would have given: CSE_USAGE for one that is none, or whose series the
 * run does not have, with the names that it has. */
cse_status cse_alerts_try(cse_store_reader *reader, const char *const *conditions, int count,
                          cse_alert_list *list);

#endif
