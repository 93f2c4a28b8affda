/* The alerts of a run: reads its store, as it grows or when it is whole, and tells when a condition
 * begins to hold and when it ceases to. The same points give the same alerts, whenever they are
 * read. */
#ifndef CSE_RUN_ALERTS_ALERT_WATCH_H
#define CSE_RUN_ALERTS_ALERT_WATCH_H

#include "run/alerts/alert_expression.h"
#include "store/reader.h"

enum { CSE_ALERTS_MOST = 64 }; /* conditions of a run */

typedef struct cse_alert_watch cse_alert_watch;

/* A condition began or ceased to hold. Texts are valid during the call. */
typedef struct cse_alert_change {
    int alert; /* in the order in which they were added */
    const char *condition, *values;
    bool begins;
    int64_t step, time_ms; /* the last step until then; 0: none */
} cse_alert_change;
typedef void cse_alert_take(void *self, const cse_alert_change *change);

cse_alert_watch *cse_alert_watch_new(void);
void cse_alert_watch_destroy(cse_alert_watch **watch);
/* CSE_USAGE with what is wrong in the condition. Called before the first read. */
cse_status cse_alert_watch_add(cse_alert_watch *watch, const char *condition);
/* What changed until then is not told. */
void cse_alert_watch_told(cse_alert_watch *watch, int64_t time_ms);

/* Reads what the store has by now. `now_ms`: silences last until then; 0: until the last row. */
cse_status cse_alert_watch_read(cse_alert_watch *watch, cse_store_reader *reader, int64_t now_ms,
                                cse_alert_take *take, void *self);

/* A name of the condition that has had no value; NULL: there is none. Borrowed. */
const char *cse_alert_watch_unknown(const cse_alert_watch *watch, int alert);

#endif
