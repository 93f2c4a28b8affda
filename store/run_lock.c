/* Two flocks. Readers try a shared lock without waiting and release it at once. */
#include "store/run_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/file_status.h"

/* A reader that checks whether the run is alive holds the lock for a moment. */
enum { TRIES = 50 };

static bool lock_path(const char *model_dir, char path[PATH_MAX])
{
    return (size_t)snprintf(path, PATH_MAX, "%s/run.lock", model_dir) < PATH_MAX;
}

/* ---- taking ---- */

typedef enum taken { TAKEN, HELD_BY_ANOTHER, NO_LOCKS } taken;

static taken take(int descriptor)
{
    for (int i = 0; i < TRIES; i++) {
        if (flock(descriptor, LOCK_EX | LOCK_NB) == 0)
            return TAKEN;
        if (errno != EWOULDBLOCK && errno != EINTR)
            return NO_LOCKS;
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
    return HELD_BY_ANOTHER;
}

static cse_status held_by_another(const char *path)
{
    return cse_fail(CSE_TEMPORARY,
                    "%s is held by another process: a run of this model_dir is under way; wait for "
                    "its end, cancel it, or choose another model_dir",
                    path);
}

static cse_status take_file(const char *path, int *descriptor)
{
    *descriptor = open(path, O_CREAT | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (*descriptor < 0)
        return cse_fail(cse_status_of_writing(errno), "%s cannot be opened: %s", path,
                        strerror(errno));
    return take(*descriptor) == TAKEN ? CSE_OK : held_by_another(path);
}

static cse_status take_directory(const char *model_dir, const char *path, int *descriptor)
{
    *descriptor = open(model_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return *descriptor >= 0 && take(*descriptor) == HELD_BY_ANOTHER ? held_by_another(path)
                                                                    : CSE_OK;
}

cse_status cse_run_lock_take(const char *model_dir, cse_run_lock *lock)
{
    char path[PATH_MAX];
    *lock = CSE_NO_RUN_LOCK;
    if (!lock_path(model_dir, path))
        return cse_fail(CSE_CONFIG, "model_dir %s: the path is too long", model_dir);
    cse_status status = take_file(path, &lock->file);
    if (status == CSE_OK)
        status = take_directory(model_dir, path, &lock->directory);
    if (status != CSE_OK)
        cse_run_lock_release(lock);
    return status;
}

void cse_run_lock_release(cse_run_lock *lock)
{
    if (lock->file >= 0)
        close(lock->file);
    if (lock->directory >= 0)
        close(lock->directory);
    *lock = CSE_NO_RUN_LOCK;
}

/* ---- what became of it ---- */

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

cse_run_place cse_run_lock_place(const cse_run_lock *lock, const char *model_dir)
{
    struct stat held, named;
    if (lock->directory < 0 || fstat(lock->directory, &held) != 0)
        return CSE_PLACE_UNKNOWN;
    if (stat(model_dir, &named) != 0)
        return errno == ENOENT || errno == ENOTDIR ? CSE_PLACE_GONE : CSE_PLACE_UNKNOWN;
    if (!S_ISDIR(named.st_mode))
        return CSE_PLACE_GONE;
    return is_same(&held, &named) ? CSE_PLACE_SAME : CSE_PLACE_OTHER;
}

void cse_run_lock_directory(const cse_run_lock *lock, char path[PATH_MAX])
{
    char link[64];
    struct stat held;
    snprintf(link, sizeof link, "/proc/self/fd/%d", lock->directory);
    const ssize_t size = readlink(link, path, PATH_MAX - 1);
    const bool is_there = size > 0 && fstat(lock->directory, &held) == 0 && held.st_nlink > 0;
    path[is_there ? size : 0] = '\0';
}

bool cse_run_lock_is_in_place(const cse_run_lock *lock, const char *model_dir)
{
    char path[PATH_MAX];
    struct stat held, named;
    if (!lock_path(model_dir, path) || fstat(lock->file, &held) != 0)
        return false;
    return lstat(path, &named) == 0 ? is_same(&held, &named) : errno != ENOENT;
}

cse_status cse_run_lock_renew(cse_run_lock *lock, const char *model_dir)
{
    char path[PATH_MAX];
    int file;
    if (!lock_path(model_dir, path))
        return cse_fail(CSE_CONFIG, "model_dir %s: the path is too long", model_dir);
    cse_status status = take_file(path, &file);
    if (status != CSE_OK) {
        if (file >= 0)
            close(file);
        return status;
    }
    close(lock->file);
    lock->file = file;
    return CSE_OK;
}

/* ---- readers ---- */

/* Shared: readers that check at the same time do not take each other for the run. */
static bool is_held(int descriptor)
{
    const bool held = flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(descriptor);
    return held;
}

bool cse_run_is_alive(const char *model_dir)
{
    char path[PATH_MAX];
    if (!lock_path(model_dir, path))
        return false;
    int descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (descriptor < 0 && errno == ENOENT)
        descriptor = open(model_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return descriptor >= 0 && is_held(descriptor);
}
