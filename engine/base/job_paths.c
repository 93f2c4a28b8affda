/* Which paths a process needs besides those of its job: the system's programs and libraries, the
 * compiler, this program itself. */
#include "engine/base/job_paths.h"

#include <dirent.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

/* Programs and libraries. */
static const char *const system_folders[] = { "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64" };

/* What the C library and the compiler read of the machine. Of /etc only what is named here, which
 * every user may read. */
static const char *const system_files[] = { "/proc",
                                            "/sys",
                                            "/dev/null",
                                            "/dev/zero",
                                            "/dev/full",
                                            "/dev/random",
                                            "/dev/urandom",
                                            "/etc/alternatives",
                                            "/etc/ld.so.cache",
                                            "/etc/ld.so.preload",
                                            "/etc/localtime",
                                            "/etc/locale.alias",
                                            "/etc/nsswitch.conf",
                                            "/etc/passwd",
                                            "/etc/group",
                                            "/etc/hostname" };

/* How the name of another host becomes its address. */
static const char *const name_files[] = { "/etc/hosts", "/etc/host.conf", "/etc/gai.conf",
                                          "/etc/resolv.conf", "/run/systemd/resolve" };

static void add(cse_job_paths *paths, const char *path, cse_landlock_access access)
{
    CSE_GROW(paths->items, paths->count, paths->capacity);
    paths->items[paths->count++] = (cse_job_path){ cse_strdup(path), access };
}

static int allow_library(struct dl_phdr_info *info, size_t size, void *paths)
{
    (void)size;
    if (info->dlpi_name != NULL && info->dlpi_name[0] == '/')
        add(paths, info->dlpi_name, CSE_LANDLOCK_EXECUTE);
    return 0;
}

/* The compiler that CSE_CC names, and, if it lies in a folder bin, what was installed with it. */
static void allow_compiler(cse_job_paths *paths)
{
    char path[PATH_MAX];
    const char *named = getenv("CSE_CC");
    if (named == NULL || strchr(named, '/') == NULL || realpath(named, path) == NULL)
        return;
    add(paths, path, CSE_LANDLOCK_EXECUTE);
    char *name = strrchr(path, '/');
    *name = '\0';
    char *folder = strrchr(path, '/');
    if (folder == NULL || folder == path || strcmp(folder, "/bin") != 0)
        return;
    *folder = '\0';
    add(paths, path, CSE_LANDLOCK_EXECUTE);
}

static void allow_system(cse_job_paths *paths, cse_sandbox_profile profile)
{
    const char *worker = getenv("CSENGINE_EXECUTABLE");
    char own[PATH_MAX];
    for (size_t i = 0; i < sizeof system_folders / sizeof system_folders[0]; i++)
        add(paths, system_folders[i],
            profile == CSE_SANDBOX_COORDINATOR ? CSE_LANDLOCK_EXECUTE : CSE_LANDLOCK_READ);
    for (size_t i = 0; i < sizeof system_files / sizeof system_files[0]; i++)
        add(paths, system_files[i], CSE_LANDLOCK_READ);
    for (size_t i = 0; profile == CSE_SANDBOX_MOVER && i < sizeof name_files / sizeof name_files[0];
         i++)
        add(paths, name_files[i], CSE_LANDLOCK_READ);
    add(paths, "/dev/null", CSE_LANDLOCK_WRITE);
    if (SANITIZED)
        add(paths, "/", CSE_LANDLOCK_EXECUTE);
    if (realpath("/proc/self/exe", own) != NULL)
        add(paths, own, CSE_LANDLOCK_EXECUTE);
    dl_iterate_phdr(allow_library, paths);
    if (profile != CSE_SANDBOX_COORDINATOR)
        return;
    if (worker != NULL)
        add(paths, worker, CSE_LANDLOCK_EXECUTE);
    allow_compiler(paths);
}

/* The folders in a queue's, but not the files that the server keeps beside them. */
static void allow_queue(cse_job_paths *paths, const char *queue)
{
    char path[PATH_MAX];
    add(paths, queue, CSE_LANDLOCK_LIST);
    DIR *entries = opendir(queue);
    if (entries == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        if (entry->d_name[0] == '.' || (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN))
            continue;
        if ((size_t)snprintf(path, sizeof path, "%s/%s/.", queue, entry->d_name) < sizeof path)
            add(paths, path, CSE_LANDLOCK_READ);
    }
    closedir(entries);
}

static void allow_inputs(cse_job_paths *paths, const cse_confinement *confinement)
{
    for (int i = 0; i < cse_confinement_count(confinement, CSE_PATH_INPUT); i++) {
        const char *folder = cse_confinement_folder(confinement, CSE_PATH_INPUT, i);
        if (cse_confinement_is_queue(confinement, i))
            allow_queue(paths, folder);
        else
            add(paths, folder, CSE_LANDLOCK_READ);
    }
}

static void allow_folders(cse_job_paths *paths, const cse_confinement *confinement,
                          cse_path_use use, cse_landlock_access access)
{
    for (int i = 0; i < cse_confinement_count(confinement, use); i++)
        add(paths, cse_confinement_folder(confinement, use, i), access);
}

void cse_job_paths_collect(cse_sandbox_profile profile, const cse_confinement *confinement,
                           const char *private_folder, cse_job_paths *paths)
{
    const bool coordinates = profile == CSE_SANDBOX_COORDINATOR;
    const bool reads = coordinates || profile == CSE_SANDBOX_INPUT;
    *paths = (cse_job_paths){ .count = 0 };
    allow_system(paths, profile);
    if (reads)
        allow_inputs(paths, confinement);
    allow_folders(paths, confinement, CSE_PATH_OUTPUT,
                  coordinates ? CSE_LANDLOCK_WRITE : CSE_LANDLOCK_READ);
    if (reads)
        allow_folders(paths, confinement, CSE_PATH_LIBRARY, CSE_LANDLOCK_READ);
    if (coordinates)
        allow_folders(paths, confinement, CSE_PATH_PROGRAM, CSE_LANDLOCK_EXECUTE);
    if (private_folder != NULL)
        add(paths, private_folder, CSE_LANDLOCK_WRITE);
}

void cse_job_paths_clear(cse_job_paths *paths)
{
    for (int i = 0; i < paths->count; i++)
        free(paths->items[i].path);
    free(paths->items);
    *paths = (cse_job_paths){ .count = 0 };
}
