/* Whether a run is alive: its process holds an flock on model_dir/run.lock, which the kernel
 * releases when the process ends for any reason. A process id would not do: it may have been
 * reused. */
#ifndef CSE_STORE_RUN_LOCK_H
#define CSE_STORE_RUN_LOCK_H

#include <stdbool.h>

#include "csengine/status.h"

/* Takes the lock; *descriptor holds it until it is closed. CSE_TEMPORARY when another process holds
 * it, CSE_CANNOT_CREATE or CSE_PERMISSION when the file cannot be made. */
cse_status cse_run_lock_take(const char *model_dir, int *descriptor);

/* Whether a process holds the lock. */
bool cse_run_is_alive(const char *model_dir);

#endif
