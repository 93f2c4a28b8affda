/* What a host group is opened with (host_group.h). */
#ifndef CSE_WORKERS_GROUP_HOST_GROUP_OPTIONS_H
#define CSE_WORKERS_GROUP_HOST_GROUP_OPTIONS_H

#include <stdbool.h>

#include "workers/control/execution_options.h"
#include "workers/group/members.h"

typedef struct cse_host_group cse_host_group;

/* Texts are copied, but for those of the identity and the names. */
typedef struct cse_host_group_options {
    int host, host_count, leader;
    cse_host_set absent;     /* places without a host */
    cse_host_set data_hosts; /* that have the data; none: all */
    int64_t epoch, lease_ns;
    cse_host_identity identity;
    const char *const *names, *const *addresses, *const *movers; /* [host_count] */
    const char *link;      /* of the movers; NULL: the default */
    const char *directory; /* of a follower: where the file of a job is kept as received.mdl */
    unsigned char key[CSE_HOST_LINK_KEY_BYTES];
    bool plain;
    bool listens_everywhere; /* at its ports, on all interfaces */
    int min_hosts;           /* fewer end the run */
    int replicas;            /* of each host */
    bool even_shares;        /* whatever speeds are measured */
    bool may_lack_hosts;     /* from its start: those that do not connect count as lost */
    /* In the thread, every few milliseconds; may be NULL. */
    void (*turn)(void *self, cse_host_group *group);
    void *self;
} cse_host_group_options;

#endif
