/* A prober: the program that `csengine doctor --hosts` starts on each host. It says what its host
 * is, and measures the link to another prober when it is told to.
 *
 * It gets its place (workers/group/agent_place.h) through its input, then a line "measure HOST" for
 * each measurement; it ends with its input. Each answer becomes one line of standard output:
 * CSE_PROBE_MARK and a JSON object, so that what a shell's start-up files print is told apart.
 * Links, handshake and keys are those of a run. */
#ifndef CSE_RUN_HOSTS_PROBE_HOST_H
#define CSE_RUN_HOSTS_PROBE_HOST_H

#include <jansson.h>

#include "csengine/status.h"

#define CSE_PROBE_MARK "csengine-probe "

typedef struct cse_prober {
    int input;                         /* a descriptor */
    void (*say)(const json_t *answer); /* behind CSE_PROBE_MARK, at once */
} cse_prober;

/* Until its input ends. SIGPIPE must be ignored. */
cse_status cse_probe_host(const cse_prober *prober);

#endif
