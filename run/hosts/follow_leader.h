/* An agent: the program of a host that follows. It is told where its leader is, gets the job from
 * it, and runs it. */
#ifndef CSE_RUN_HOSTS_FOLLOW_LEADER_H
#define CSE_RUN_HOSTS_FOLLOW_LEADER_H

#include <stdbool.h>

#include "csengine/status.h"

typedef struct cse_follower {
    int input; /* a descriptor: the place of this host; it ends when the leader does */
    bool (*stop_requested)(void *self);
    void *self;
} cse_follower;

/* Until the run is over for this host. SIGPIPE must be ignored. */
cse_status cse_follow_leader(const cse_follower *options);

#endif
