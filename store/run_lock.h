/* Whether a run lives: model_dir/run.lock is held with flock by the run's process for as long as it
 * lives, and let go by the kernel with it, whatever ended it. A process number would not do: it may
 * be another process's by then. */
#ifndef CSE_STORE_RUN_LOCK_H
#define CSE_STORE_RUN_LOCK_H

#include <stdbool.h>

#include "csengine/status.h"

/* Takes the lock; *descriptor holds it until it is closed. CSE_TEMPORARY when another process holds
 * it, CSE_CANNOT_CREATE or CSE_PERMISSION when the file cannot be made. */
cse_status cse_run_lock_take(const char *model_dir, int *descriptor);

/* Whether somebody holds it now. */
bool cse_run_is_alive(const char *model_dir);

#endif
