/* Whether a run is alive: its process holds an flock on model_dir/run.lock, which the kernel
 * releases when the process ends for any reason. A process id would not do: it may have been
 * reused.
 *
 * It holds one on the directory itself as well, which nobody can remove from under it: a second
 * run is refused while there is no run.lock, or another. Some network file systems have no such
 * locks of directories; there the file is all there is. */
#ifndef CSE_STORE_RUN_LOCK_H
#define CSE_STORE_RUN_LOCK_H

#include <limits.h>
#include <stdbool.h>

#include "csengine/status.h"

typedef struct cse_run_lock {
    int file, directory; /* descriptors; -1: not held */
} cse_run_lock;
#define CSE_NO_RUN_LOCK ((cse_run_lock){ .file = -1, .directory = -1 })

/* Takes the lock. CSE_TEMPORARY when another process holds it, CSE_CANNOT_CREATE or CSE_PERMISSION
 * when the file cannot be made. */
cse_status cse_run_lock_take(const char *model_dir, cse_run_lock *lock);
void cse_run_lock_release(cse_run_lock *lock);

/* Where the directory that is locked stands now. */
typedef enum cse_run_place {
    CSE_PLACE_SAME,
    CSE_PLACE_GONE,    /* nothing, or no directory, has its name */
    CSE_PLACE_OTHER,   /* another directory has */
    CSE_PLACE_UNKNOWN, /* it cannot be looked at */
} cse_run_place;
cse_run_place cse_run_lock_place(const cse_run_lock *lock, const char *model_dir);
/* The directory's own name, as the kernel has it: "" when it was removed. */
void cse_run_lock_directory(const cse_run_lock *lock, char path[PATH_MAX]);
/* Whether run.lock is the file that is held. */
bool cse_run_lock_is_in_place(const cse_run_lock *lock, const char *model_dir);
/* Makes run.lock anew, and holds it. The directory is the one that is locked. */
cse_status cse_run_lock_renew(cse_run_lock *lock, const char *model_dir);

/* Whether a process holds the lock: that of the file, or without one that of the directory. */
bool cse_run_is_alive(const char *model_dir);

#endif
