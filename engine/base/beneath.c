/* openat2 with RESOLVE_BENEATH where the kernel has it (5.6 and later); else a walk with O_NOFOLLOW
 * over the components, each opened from the descriptor of the one before. */
#include "engine/base/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_openat2
#define SYS_openat2 437
#endif

enum { ATTEMPTS = 64 };

static int keep_errno_and_close(int descriptor, int result)
{
    int error = errno;
    close(descriptor);
    errno = error;
    return result;
}

/* ELOOP says that a component is a symbolic link. ENOTDIR may say it, too: O_DIRECTORY and
 * O_NOFOLLOW together on a link. */
static int step_error(int folder, const char *name)
{
    int error = errno;
    struct stat facts;
    bool link = error == ELOOP ||
                (error == ENOTDIR && fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
                 S_ISLNK(facts.st_mode));
    errno = link ? EXDEV : error;
    return -1;
}

int cse_open_beneath_stepwise(int folder, const char *path, int flags, mode_t mode)
{
    char copy[PATH_MAX];
    if (*path == '/' || strlen(path) >= sizeof copy) {
        errno = *path == '/' ? EXDEV : ENAMETOOLONG;
        return -1;
    }
    snprintf(copy, sizeof copy, "%s", path);
    int at = openat(folder, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    char *rest = copy;
    while (at >= 0) {
        char *name = rest + strspn(rest, "/");
        rest = name + strcspn(name, "/");
        bool last = rest[strspn(rest, "/")] == '\0';
        if (*rest != '\0')
            *rest++ = '\0';
        if (strcmp(name, "..") == 0) {
            errno = EXDEV;
            return keep_errno_and_close(at, -1);
        }
        int wanted = last ? flags : O_PATH | O_DIRECTORY;
        int next = openat(at, *name != '\0' ? name : ".", wanted | O_NOFOLLOW | O_CLOEXEC, mode);
        struct stat facts;
        if (next < 0) {
            step_error(at, name);
            return keep_errno_and_close(at, -1);
        }
        close(at);
        at = next;
        /* With O_PATH a symbolic link is opened itself. */
        if ((wanted & O_PATH) != 0 && fstat(at, &facts) == 0 && S_ISLNK(facts.st_mode)) {
            errno = EXDEV;
            return keep_errno_and_close(at, -1);
        }
        if (last)
            return at;
    }
    return -1;
}

int cse_open_beneath(int folder, const char *path, int flags, mode_t mode)
{
    const bool creates = (flags & (O_CREAT | O_TMPFILE)) == O_CREAT;
    const struct open_how how = { .flags = (unsigned)(flags | O_CLOEXEC),
                                  .mode = creates ? mode & 07777 : 0,
                                  .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };
    /* EAGAIN: something was renamed or mounted meanwhile, so that ".." could not be judged. */
    long opened = -1;
    for (int i = 0; i < ATTEMPTS; i++) {
        opened = syscall(SYS_openat2, folder, path, &how, sizeof how);
        if (opened >= 0 || (errno != EAGAIN && errno != EINTR))
            break;
    }
    if (opened >= 0 || (errno != ENOSYS && errno != EPERM))
        return (int)opened;
    return cse_open_beneath_stepwise(folder, path, flags, mode); /* EPERM: old sandboxes say so */
}

/* Makes the last component of `path`, which is changed while this runs. */
static int make_last(int folder, char *path, mode_t mode)
{
    char *slash = strrchr(path, '/');
    if (slash != NULL)
        *slash = '\0';
    int parent = cse_open_beneath(folder, slash != NULL ? path : ".", O_PATH | O_DIRECTORY, 0);
    if (slash != NULL)
        *slash = '/';
    if (parent < 0)
        return -1;
    int made = mkdirat(parent, slash != NULL ? slash + 1 : path, mode);
    return keep_errno_and_close(parent, made != 0 && errno != EEXIST ? -1 : 0);
}

int cse_make_beneath(int folder, const char *path, mode_t mode)
{
    char partial[PATH_MAX];
    if (strlen(path) >= sizeof partial || *path == '/') {
        errno = *path == '/' ? EXDEV : ENAMETOOLONG;
        return -1;
    }
    for (size_t end = strcspn(path, "/"); end > 0; end += strcspn(path + end, "/")) {
        snprintf(partial, sizeof partial, "%.*s", (int)end, path);
        if (make_last(folder, partial, mode) != 0)
            return -1;
        end += strspn(path + end, "/");
        if (path[end] == '\0')
            break;
    }
    int whole = cse_open_beneath(folder, path, O_PATH | O_DIRECTORY, 0);
    return whole < 0 ? -1 : close(whole);
}

int cse_open_plain(const char *path, int flags, mode_t mode)
{
    struct stat facts;
    /* Non-blocking: a pipe in its place must not hold the process. */
    int opened = open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, mode);
    if (opened < 0 || (fstat(opened, &facts) == 0 && S_ISREG(facts.st_mode)))
        return opened;
    errno = ELOOP;
    return keep_errno_and_close(opened, -1);
}

FILE *cse_open_plain_stream(const char *path)
{
    int opened = cse_open_plain(path, O_RDONLY, 0);
    FILE *stream = opened >= 0 ? fdopen(opened, "rb") : NULL;
    if (opened >= 0 && stream == NULL)
        close(opened);
    return stream;
}
