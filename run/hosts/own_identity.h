/* What this host is to the others of a run: the identity of the program that computes here. */
#ifndef CSE_RUN_HOSTS_OWN_IDENTITY_H
#define CSE_RUN_HOSTS_OWN_IDENTITY_H

#include "workers/group/host_identity.h"

/* cse_host_identity_new, of the program csengine also where another program runs the job: that one
 * is asked then. CSE_UNAVAILABLE: there is none, or one of another version. */
cse_status cse_own_identity_find(cse_arena *arena, bool portable, cse_host_identity *identity);

#endif
