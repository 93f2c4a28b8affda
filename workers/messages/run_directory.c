/* A run's directory, and the removal of abandoned ones.
 *
 * A killed coordinator removes nothing, so it must be possible to recognise its directory as
 * abandoned: the owner holds an flock on the file "lock" in it, which the kernel releases when the
 * process ends for any reason. A process id would not do: it may have been reused. */
#include "workers/messages/run_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/file_status.h"

#define NAME_PREFIX "csengine-run-"

/* A directory without a lock file that is younger than this may still be under construction. */
enum { YOUNG_SECONDS = 10 };

static bool is_ours(const struct stat *facts)
{
    return S_ISDIR(facts->st_mode) && facts->st_uid == geteuid();
}

/* The parent directories to try, in order of preference; NULL for one that is not usable. */
static const char *place(int number)
{
    if (number == 1)
        return "/tmp";
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    struct stat facts;
    if (runtime == NULL || runtime[0] != '/' ||
        strlen(runtime) + sizeof "/" NAME_PREFIX "XXXXXX" > CSE_RUN_DIRECTORY_BYTES ||
        stat(runtime, &facts) != 0 || !is_ours(&facts))
        return NULL;
    return runtime;
}

/* The file gets its name only when it is locked, so that no sweep finds it unlocked. */
static cse_status take_lock(cse_run_directory *directory)
{
    char unnamed[CSE_RUN_DIRECTORY_BYTES + 8], named[CSE_RUN_DIRECTORY_BYTES + 8];
    snprintf(unnamed, sizeof unnamed, "%s/new", directory->path);
    snprintf(named, sizeof named, "%s/lock", directory->path);
    directory->lock = open(unnamed, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    if (directory->lock >= 0 && flock(directory->lock, LOCK_EX | LOCK_NB) == 0 &&
        rename(unnamed, named) == 0)
        return CSE_OK;
    cse_status status =
        cse_fail(cse_status_of_writing(errno), "run directory: %s: %s", named, strerror(errno));
    cse_run_directory_remove(directory);
    return status;
}

static const char *given;

void cse_run_directory_use(const char *path)
{
    given = path;
}

cse_status cse_run_directory_make(cse_run_directory *directory)
{
    directory->lock = -1;
    if (given != NULL) {
        snprintf(directory->path, sizeof directory->path, "%s", given);
        return CSE_OK;
    }
    for (int p = 0; p < 2; p++) {
        const char *parent = place(p);
        if (parent == NULL)
            continue;
        snprintf(directory->path, sizeof directory->path, "%s/" NAME_PREFIX "XXXXXX", parent);
        if (mkdtemp(directory->path) != NULL)
            return take_lock(directory);
    }
    int error = errno;
    directory->path[0] = '\0';
    return cse_fail(cse_status_of_writing(error),
                    "run directory: cannot be made under XDG_RUNTIME_DIR or /tmp: %s",
                    strerror(error));
}

/* Removes the plain files and sockets of a directory, then the directory; it has no others. */
static void remove_flat(int parent, const char *name)
{
    int descriptor = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (descriptor < 0)
        return;
    DIR *entries = fdopendir(descriptor);
    if (entries == NULL) {
        close(descriptor);
        return;
    }
    struct dirent *entry;
    while ((entry = readdir(entries)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(descriptor, entry->d_name, 0);
    closedir(entries);
    unlinkat(parent, name, AT_REMOVEDIR);
}

void cse_run_directory_remove(cse_run_directory *directory)
{
    if (directory->path[0] != '\0' && given == NULL)
        remove_flat(AT_FDCWD, directory->path);
    if (directory->lock >= 0)
        close(directory->lock);
    directory->path[0] = '\0';
    directory->lock = -1;
}

static bool is_abandoned(int parent, const char *name)
{
    struct stat facts;
    if (fstatat(parent, name, &facts, AT_SYMLINK_NOFOLLOW) != 0 || !is_ours(&facts))
        return false;
    char path[300];
    if ((size_t)snprintf(path, sizeof path, "%s/lock", name) >= sizeof path)
        return false;
    int lock = openat(parent, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (lock < 0) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        return errno == ENOENT && now.tv_sec - facts.st_mtim.tv_sec > YOUNG_SECONDS;
    }
    bool is_free = flock(lock, LOCK_EX | LOCK_NB) == 0;
    close(lock);
    return is_free;
}

void cse_run_directory_sweep(void)
{
    if (given != NULL)
        return; /* others' are out of reach */
    for (int p = 0; p < 2; p++) {
        const char *parent = place(p);
        DIR *entries = parent != NULL ? opendir(parent) : NULL;
        if (entries == NULL)
            continue;
        struct dirent *entry;
        while ((entry = readdir(entries)) != NULL)
            if (strncmp(entry->d_name, NAME_PREFIX, strlen(NAME_PREFIX)) == 0 &&
                is_abandoned(dirfd(entries), entry->d_name))
                remove_flat(dirfd(entries), entry->d_name);
        closedir(entries);
    }
}
