/* An empty file system takes the place of /tmp and becomes the root; the old root lies in it until
 * what is needed of it has been bound to the same names. */
#include "engine/base/mount_view.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/base/arena.h"

#define OLD "/.old" /* the old root, in the new one */

enum { CALL_MOUNT_SETATTR = 442 }; /* Linux 5.12 */

typedef struct mount_attributes {
    uint64_t set, clear, propagation, user_space;
} mount_attributes;

static cse_status fail(const char *what, const char *path)
{
    return cse_fail(CSE_UNAVAILABLE, "the job cannot be confined: mounts: %s %s: %s", what, path,
                    strerror(errno));
}

/* Parents before what lies in them. */
static int compare(const void *a, const void *b)
{
    const size_t left = strlen(((const cse_job_path *)a)->path);
    const size_t right = strlen(((const cse_job_path *)b)->path);
    return (left > right) - (left < right);
}

static void make_parents(const char *path)
{
    char partial[PATH_MAX];
    snprintf(partial, sizeof partial, "%s", path);
    for (char *slash = strchr(partial + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(partial, 0755);
        *slash = '/';
    }
}

/* Landlock refuses writing, too, where the kernel has no such call. */
static void make_read_only(const char *path)
{
    const mount_attributes read_only = { .set = MS_RDONLY };
    syscall(CALL_MOUNT_SETATTR, AT_FDCWD, path, AT_RECURSIVE, &read_only, sizeof read_only);
}

static cse_status bind_path(const char *path, bool writes)
{
    char source[PATH_MAX + sizeof OLD];
    struct stat facts;
    snprintf(source, sizeof source, OLD "%s", path);
    if (lstat(source, &facts) != 0 || (lstat(path, &facts) == 0 && !writes))
        return CSE_OK; /* it is not there, or in a folder that is */
    lstat(source, &facts);
    make_parents(path);
    if (S_ISDIR(facts.st_mode))
        mkdir(path, 0755);
    else
        close(open(path, O_CREAT | O_CLOEXEC, 0644));
    if (mount(source, path, NULL, MS_BIND | MS_REC, NULL) != 0)
        return fail("bind", path);
    if (!writes)
        make_read_only(path);
    return CSE_OK;
}

static void remove_dots(char *path)
{
    const size_t length = strlen(path);
    if (length > 2 && strcmp(path + length - 2, "/.") == 0)
        path[length - 2] = '\0';
}

/* A symbolic link stays one; where it leads is bound beside it. */
static cse_status add_path(const cse_job_path *item)
{
    char target[PATH_MAX], old[PATH_MAX + sizeof OLD];
    const bool writes = item->access == CSE_LANDLOCK_WRITE;
    remove_dots(item->path);
    snprintf(old, sizeof old, OLD "%s", item->path);
    const ssize_t length = readlink(old, target, sizeof target - 1);
    if (length <= 0)
        return bind_path(item->path, writes);
    target[length] = '\0';
    make_parents(item->path);
    symlink(target, item->path);
    return CSE_OK;
}

/* Links are resolved while the old root is in its place. */
static void add_targets(cse_job_paths *paths)
{
    char real[PATH_MAX];
    for (int i = 0, count = paths->count; i < count; i++) {
        if (realpath(paths->items[i].path, real) == NULL ||
            strcmp(real, paths->items[i].path) == 0 || strncmp(real, "/proc/", 6) == 0)
            continue;
        CSE_GROW(paths->items, paths->count, paths->capacity);
        paths->items[paths->count++] = (cse_job_path){ cse_strdup(real), paths->items[i].access };
    }
}

static cse_status take_root(void)
{
    if (mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL) != 0 ||
        mount("none", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=4m") != 0 ||
        mkdir("/tmp" OLD, 0700) != 0 || syscall(SYS_pivot_root, "/tmp", "/tmp" OLD) != 0 ||
        chdir("/") != 0)
        return fail("root", "/tmp");
    return CSE_OK;
}

/* Its own, in which others have no number; where the machine hides parts of the old one, that. */
static cse_status add_processes(void)
{
    mkdir("/proc", 0755);
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0 ||
        mount(OLD "/proc", "/proc", NULL, MS_BIND | MS_REC, NULL) == 0)
        return CSE_OK;
    return fail("bind", "/proc");
}

static cse_status leave_old(void)
{
    static const char *const links[][2] = { { "/proc/self/fd", "/dev/fd" },
                                            { "/proc/self/fd/0", "/dev/stdin" },
                                            { "/proc/self/fd/1", "/dev/stdout" },
                                            { "/proc/self/fd/2", "/dev/stderr" } };
    mkdir("/tmp", 0755);
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++)
        symlink(links[i][0], links[i][1]);
    if (umount2(OLD, MNT_DETACH) != 0 || rmdir(OLD) != 0 ||
        mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) != 0)
        return fail("leave", "the old root");
    return CSE_OK;
}

cse_status cse_mount_view_make(cse_job_paths *paths)
{
    char directory[PATH_MAX];
    if (getcwd(directory, sizeof directory) == NULL)
        snprintf(directory, sizeof directory, "/");
    add_targets(paths);
    qsort(paths->items, (size_t)paths->count, sizeof *paths->items, compare);
    const mode_t mask = umask(0022);
    cse_status status = take_root();
    if (status == CSE_OK)
        status = add_processes();
    for (int i = 0; i < paths->count && status == CSE_OK; i++)
        status = add_path(&paths->items[i]);
    if (status == CSE_OK)
        status = leave_old();
    umask(mask);
    return status != CSE_OK || chdir(directory) == 0 || chdir("/") == 0 ? status
                                                                        : fail("enter", "/");
}
