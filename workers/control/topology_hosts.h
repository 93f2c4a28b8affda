/* What a report says of this host among the others of its run: how long it waited for them, and
 * what its mover exchanged with each.
 *
 *     "host": {"number", "exposed", "links": [{"host", "frames_per_second", "mb_sent_per_second",
 *              "mb_received_per_second", "bytes_sent", "bytes_received", "reconnects",
 *              "retransmits", "refused"}]}
 *
 * Above CSE_TOPOLOGY_LINKS hosts there is one link, to all others together ("host": null): a report
 * is stored twice a second, and the number of pairs grows with the square. */
#ifndef CSE_WORKERS_CONTROL_TOPOLOGY_HOSTS_H
#define CSE_WORKERS_CONTROL_TOPOLOGY_HOSTS_H

#include <jansson.h>

#include "workers/arena/arena_hosts.h"

enum { CSE_TOPOLOGY_LINKS = 8 };

/* As it was at the report before. */
typedef struct cse_topology_hosts {
    int64_t exposed_ns;
    cse_host_traffic traffic[CSE_MAX_HOSTS];
} cse_topology_hosts;

/* Adds "host" to the report; nothing where this host is alone. */
void cse_topology_add_host(json_t *report, const cse_cluster *cluster, int64_t elapsed_ns,
                           cse_topology_hosts *before);

#endif
