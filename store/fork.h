/* The run store of a run that shares the past of another one. */
#ifndef CSE_STORE_FORK_H
#define CSE_STORE_FORK_H

#include "csengine/status.h"

#include <stdint.h>

/* Copies the run store of `from` to `to`, which has none, up to step `step`: what it has of later
 * steps is left out, and the checkpoints that stay are those in `to`. The next attempt there has
 * an id of its own; the keys forked_from and forked_at say which run it shares its past with.
 * `from` may be of a run that goes on. CSE_NO_INPUT, CSE_DATA, CSE_IO. */
cse_status cse_store_fork(const char *from, const char *to, int64_t step);

#endif
