/* Hosts and the links between them, as the probers of `csengine doctor --hosts` find them.
 *
 * Probers are started by the launchers of a run and end with their input, so none is left when this
 * program ends, however it does. Each host measures one other host at a time: in a round of a
 * tournament each has one partner, first one side measures, then the other. */
#ifndef CSE_RUN_HOSTS_PROBED_HOSTS_H
#define CSE_RUN_HOSTS_PROBED_HOSTS_H

#include <jansson.h>
#include <stdbool.h>

#include "workers/host_launchers/host_launcher.h"
#include "workers/hosts/host_list.h"

/* A host, or an ordered pair. `facts`: what the prober printed; `why`: how that failed, of a host
 * also that it ended later. A pair of which a host is missing has neither. */
typedef struct cse_probed {
    json_t *facts;
    char *why;
} cse_probed;

typedef struct cse_probed_hosts {
    int count;
    const char **names;
    cse_probed *hosts; /* [count] */
    cse_probed *pairs; /* [count * count]; from, to */
} cse_probed_hosts;

typedef struct cse_probing {
    const cse_host_list *list;
    const cse_host_launcher *launcher;
    const char *launcher_options;
    int port;            /* of the first host; 0: a random one */
    bool (*stops)(void); /* looked at several times a second */
} cse_probing;

/* What could not be had of a host or a pair is in the result; fails only where nothing can be
 * probed, and with CSE_INTERRUPTED. To be cleared in any case. */
cse_status cse_probe_hosts(const cse_probing *probing, cse_probed_hosts *probed);
void cse_probed_hosts_clear(cse_probed_hosts *probed);

#endif
