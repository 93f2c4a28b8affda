/* Who leads a run: a lock on a file in its model_dir, which the kernel frees when the leader ends,
 * and which hosts that share the folder agree on.
 *
 * The file names the run, so that a host whose folder of that name is another one never takes the
 * lead: it would go on from nothing. */
#ifndef CSE_WORKERS_GROUP_LEAD_LOCK_H
#define CSE_WORKERS_GROUP_LEAD_LOCK_H

#include <stdbool.h>

#include "csengine/status.h"

/* The leader that starts a run makes the file. `lock`: a descriptor, closed by the caller.
 * CSE_UNAVAILABLE: another one leads a run there. */
cse_status cse_lead_lock_make(const char *model_dir, const char *run, int *lock);
/* A follower takes the lead of that run. CSE_TEMPORARY: it still has a leader; CSE_NO_INPUT: the
 * folder is not the run's here. */
cse_status cse_lead_lock_take(const char *model_dir, const char *run, int *lock);
/* Whether somebody leads a run there. */
cse_status cse_lead_lock_look(const char *model_dir, bool *held);

#endif
