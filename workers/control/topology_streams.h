/* The streams of a topology report: the shared regions of the arena seen as queues. */
#ifndef CSE_WORKERS_CONTROL_TOPOLOGY_STREAMS_H
#define CSE_WORKERS_CONTROL_TOPOLOGY_STREAMS_H

#include <jansson.h>

#include "workers/arena/cluster.h"

/* Adds to `report`: "ring", the input ring as a whole; "streams", one for each process at each side
 * of the ring and of the reduction tree; and to each replica of "processes" the input workers that
 * feed it ("fed_by"). */
void cse_topology_add_streams(json_t *report, const cse_cluster *cluster, uint64_t step,
                              double steps_per_second);

#endif
