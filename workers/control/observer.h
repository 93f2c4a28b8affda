/* Watching a cluster: how busy its processes are and how full the streams between them, twice a
 * second, and what every process did in a step now and then.
 *
 * It only reads what is in the arena anyway; workers spend nothing on it but a few clock readings
 * in a sampled step, and while they wait. */
#ifndef CSE_WORKERS_CONTROL_OBSERVER_H
#define CSE_WORKERS_CONTROL_OBSERVER_H

#include "workers/arena/cluster.h"
#include "workers/control/run_events.h"

typedef struct cse_observer cse_observer;

/* NULL when nobody wants to know. Both are borrowed. */
cse_observer *cse_observer_new(cse_cluster *cluster, const cse_run_events *events);
void cse_observer_destroy(cse_observer **observer);

/* To be called often; tells `events` when there is something new. */
void cse_observer_look(cse_observer *observer, int64_t now_ns);

#endif
