/* The alerts of a run under way: a thread that reads the run's store about once a second, so that
 * training waits for nothing, and tells of changes in the store, in the log, and to receivers.
 *
 * A condition that begins to hold again within a minute is told in the store alone, and there for
 * the first 1000 changes of an attempt. */
#ifndef CSE_RUN_ALERTS_ALERT_GUARD_H
#define CSE_RUN_ALERTS_ALERT_GUARD_H

#include "csengine/extend.h"
#include "store/store.h"

typedef struct cse_alert_guard cse_alert_guard;

typedef struct cse_alert_guard_options {
    const cse_settings *settings; /* of the section `alerts`, checked */
    const char *model_dir;
    cse_store *store;
} cse_alert_guard_options;

/* All are borrowed until it is stopped. *guard is NULL without conditions. */
cse_status cse_alert_guard_start(const cse_alert_guard_options *options, cse_alert_guard **guard);
/* Reads once more what the store has. Called before the store is closed. */
void cse_alert_guard_stop(cse_alert_guard **guard);

#endif
