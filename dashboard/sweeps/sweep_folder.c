/* Links are not followed: what is read is below the root. */
#include "dashboard/sweeps/sweep_folder.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/name.h"

static bool is_folder(const char *path)
{
    struct stat about;
    return lstat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static bool is_link(const char *path)
{
    struct stat about;
    return lstat(path, &about) == 0 && S_ISLNK(about.st_mode);
}

cse_status cse_sweep_folder_read(const char *root, const char *name, cse_arena *arena,
                                 cse_sweep_log *log)
{
    char all[PATH_MAX], path[PATH_MAX];
    if (!cse_name_is_good(name) ||
        (size_t)snprintf(all, sizeof all, "%s/sweeps", root) >= sizeof all ||
        (size_t)snprintf(path, sizeof path, "%s/%s", all, name) >= sizeof path)
        return cse_fail(CSE_NO_INPUT, "there is no such sweep");
    if (is_link(all) || is_link(path))
        return cse_fail(CSE_DATA, "%s: it is a symbolic link", is_link(all) ? all : path);
    if (!is_folder(path))
        return cse_fail(CSE_NO_INPUT, "%s: there is no such folder", path);
    return cse_sweep_log_read(path, arena, log);
}

DIR *cse_sweep_folders_open(const char *root)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof path, "%s/sweeps", root) >= sizeof path)
        return NULL;
    const int file = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *folder = file >= 0 ? fdopendir(file) : NULL;
    if (folder == NULL && file >= 0)
        close(file);
    return folder;
}
