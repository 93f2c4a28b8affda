/* An flock on one file. Readers try a shared lock without waiting and release it at once. */
#include "store/run_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/file_status.h"

/* A reader that checks whether the run is alive holds the lock for a moment. */
enum { TRIES = 50 };

static bool lock_path(const char *model_dir, char path[PATH_MAX])
{
    return (size_t)snprintf(path, PATH_MAX, "%s/run.lock", model_dir) < PATH_MAX;
}

cse_status cse_run_lock_take(const char *model_dir, int *descriptor)
{
    char path[PATH_MAX];
    *descriptor = -1;
    if (!lock_path(model_dir, path))
        return cse_fail(CSE_CONFIG, "model_dir %s: the path is too long", model_dir);
    int lock = open(path, O_CREAT | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (lock < 0)
        return cse_fail(cse_status_of_writing(errno), "%s cannot be opened: %s", path,
                        strerror(errno));
    for (int i = 0; i < TRIES; i++) {
        if (flock(lock, LOCK_EX | LOCK_NB) == 0) {
            *descriptor = lock;
            return CSE_OK;
        }
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
    close(lock);
    return cse_fail(CSE_TEMPORARY,
                    "%s is held by another process: a run of this model_dir is under way; wait for "
                    "its end, cancel it, or choose another model_dir",
                    path);
}

bool cse_run_is_alive(const char *model_dir)
{
    char path[PATH_MAX];
    if (!lock_path(model_dir, path))
        return false;
    int lock = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (lock < 0)
        return false;
    /* Shared: readers that check at the same time do not take each other for the run. */
    bool is_held = flock(lock, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(lock);
    return is_held;
}
