/* Reports twice a second, and whenever a process is lost or replaced, what a cluster's processes do
 * and how full the streams between them are.
 *
 * It only reads what is in the arena; all it costs workers is a clock reading where they wait, and
 * one store for each microbatch that they begin. */
#ifndef CSE_WORKERS_CONTROL_TOPOLOGY_H
#define CSE_WORKERS_CONTROL_TOPOLOGY_H

#include "dataloader/input.h"
#include "workers/control/execution_options.h"
#include "workers/control/run_events.h"

typedef struct cse_topology cse_topology;

typedef enum cse_topology_state {
    CSE_TOPOLOGY_STARTING, /* its process was started and loads */
    CSE_TOPOLOGY_RUNNING,
    CSE_TOPOLOGY_LOST, /* its process ended and is to be replaced */
    CSE_TOPOLOGY_LEFT, /* its process ended with the run */
} cse_topology_state;

/* All are borrowed; reports go to execution->events. Without its loader the reports lack what is
 * known of the data. */
cse_topology *cse_topology_new(cse_cluster *cluster, const cse_execution *execution);
void cse_topology_destroy(cse_topology **topology);

/* What has become of a slot's process. Reports at once, once all processes have been running. */
void cse_topology_note(cse_topology *topology, int slot, cse_topology_state state, int64_t now_ns);

/* To be called often; reports when due. Returns the steps per second of the last interval. */
double cse_topology_poll(cse_topology *topology, int64_t now_ns);

#endif
