/* What is removed, renamed or replaced under a run that writes: its folder, run.db, run.lock, the
 * lines of its log. Looked at once a second; what is missing is made anew, with all that the store
 * had, and told. */
#ifndef CSE_STORE_GUARD_H
#define CSE_STORE_GUARD_H

#include "store/shared.h"

/* By the writer's thread. */
void cse_store_guard(cse_store *store);

/* run.db was found damaged when it was written: a new one takes its place. What waits to be written
 * is written there. */
cse_status cse_store_renew(cse_store *store, const char *why);

/* Opens logs/attempt_N.log, as far as it can be. */
void cse_store_open_log(cse_store *store);

#endif
