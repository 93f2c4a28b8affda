/* A lock belongs to the open file: it is gone when the last descriptor is, however the process that
 * had it ended. */
#include "workers/group/lead_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { RUN_BYTES = 128, PATH_BYTES = 4200 };

static cse_status open_locked(const char *path, int flags, int *lock)
{
    *lock = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (*lock < 0)
        return cse_fail(errno == ENOENT ? CSE_NO_INPUT : CSE_CANNOT_CREATE, "%s: %s", path,
                        strerror(errno));
    if (flock(*lock, LOCK_EX | LOCK_NB) == 0)
        return CSE_OK;
    const int error = errno;
    close(*lock);
    *lock = -1;
    return cse_fail(error == EWOULDBLOCK ? CSE_TEMPORARY : CSE_IO, "%s: cannot be locked: %s", path,
                    strerror(error));
}

cse_status cse_lead_lock_make(const char *model_dir, const char *run, int *lock)
{
    char path[PATH_BYTES];
    const size_t size = strlen(run);
    snprintf(path, sizeof path, "%s/hosts.lock", model_dir);
    cse_status status = open_locked(path, O_RDWR | O_CREAT, lock);
    if (status == CSE_TEMPORARY)
        return cse_fail(
            CSE_UNAVAILABLE,
            "%s: another host leads a run of several hosts in this folder; wait for its "
            "end, or give another --model_dir",
            path);
    CSE_TRY(status);
    if (ftruncate(*lock, 0) == 0 && pwrite(*lock, run, size, 0) == (ssize_t)size)
        return CSE_OK;
    const int error = errno;
    close(*lock);
    *lock = -1;
    return cse_fail(CSE_IO, "%s: cannot be written: %s", path, strerror(error));
}

cse_status cse_lead_lock_take(const char *model_dir, const char *run, int *lock)
{
    char path[PATH_BYTES], found[RUN_BYTES] = "";
    snprintf(path, sizeof path, "%s/hosts.lock", model_dir);
    CSE_TRY(open_locked(path, O_RDWR, lock));
    if (pread(*lock, found, sizeof found - 1, 0) > 0 && strcmp(found, run) == 0)
        return CSE_OK;
    close(*lock);
    *lock = -1;
    return cse_fail(CSE_NO_INPUT, "%s is of another run", path);
}

cse_status cse_lead_lock_look(const char *model_dir, bool *held)
{
    char path[PATH_BYTES];
    int lock = -1;
    snprintf(path, sizeof path, "%s/hosts.lock", model_dir);
    const cse_status status = open_locked(path, O_RDWR, &lock);
    *held = status == CSE_TEMPORARY;
    if (lock >= 0)
        close(lock);
    return *held ? CSE_OK : status;
}
