/* Reports twice a second how busy a cluster's processes and how full the streams between them are.
 *
 * It only reads what is in the arena; all it costs workers is a clock reading where they wait. */
#ifndef CSE_WORKERS_CONTROL_TOPOLOGY_H
#define CSE_WORKERS_CONTROL_TOPOLOGY_H

#include "workers/control/run_events.h"

typedef struct cse_topology cse_topology;

/* Both are borrowed; reports go to events->on_topology. */
cse_topology *cse_topology_new(cse_cluster *cluster, const cse_run_events *events);
void cse_topology_destroy(cse_topology **topology);

/* To be called often; reports when due. Returns the steps per second of the last interval. */
double cse_topology_poll(cse_topology *topology, int64_t now_ns);

#endif
