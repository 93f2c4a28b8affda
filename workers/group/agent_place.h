/* What the agent of a host is told by the leader that starts it, through its standard input: where
 * the others are, and the key of the run. A few lines of text, "word value", ended by "end". */
#ifndef CSE_WORKERS_GROUP_AGENT_PLACE_H
#define CSE_WORKERS_GROUP_AGENT_PLACE_H

#include <stdbool.h>

#include "engine/base/arena.h"
#include "engine/base/text.h"
#include "workers/hosts/host_set.h"

typedef struct cse_agent_place {
    int host, host_count, leader;
    int64_t epoch, lease_ns;
    bool plain, portable;
    unsigned char key[CSE_HOST_LINK_KEY_BYTES];
    const char *link, *log_level;
    const char *run;                  /* as lead_lock.h names it */
    const char *names[CSE_MAX_HOSTS]; /* of the hosts */
    /* "host:port" where the agents, and where the movers, are reached. */
    const char *addresses[CSE_MAX_HOSTS], *movers[CSE_MAX_HOSTS];
    cse_host_set data_hosts; /* that have the data; none: all */
    const char *confinement; /* of the job, as confinement.h encodes it; "": none */
} cse_agent_place;

void cse_agent_place_encode(const cse_agent_place *place, cse_text *out);
/* CSE_DATA when the text is not one; texts are kept in `arena`. */
cse_status cse_agent_place_decode(const char *text, cse_arena *arena, cse_agent_place *place);
/* Reads up to the line "end" and decodes. CSE_NO_INPUT when the input ends before. */
cse_status cse_agent_place_read(int descriptor, cse_arena *arena, cse_agent_place *place);

#endif
