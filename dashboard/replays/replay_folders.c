/* No symbolic link is followed, and an artefact has no folders in it, so that nothing is walked. */
#include "dashboard/replays/replay_folders.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/directory.h"
#include "run/travel/kept_states.h"

enum { KEY_DIGITS = 32, MOST_FILES = 16, MOST_ENTRIES = 1024 };

const cse_replay_kind cse_replay_code = { .name = ".replay_code",
                                          .artefacts = true,
                                          .most = 16,
                                          .job_bytes = INT64_C(256) << 20,
                                          .all_bytes = INT64_C(1) << 30 };
const cse_replay_kind cse_replay_states = { .name = ".replay_states",
                                            .most = CSE_KEPT_STATES,
                                            .job_bytes = INT64_C(1) << 30,
                                            .all_bytes = INT64_C(2) << 30 };

typedef struct entry {
    char *path;
    int64_t bytes, changed_ns;
} entry;

typedef struct entries {
    entry *list;
    int count, capacity;
} entries;

/* ---- what is there ---- */

static bool stat_folder(const char *path, struct stat *about)
{
    return lstat(path, about) == 0 && S_ISDIR(about->st_mode);
}

/* What the files of an artefact take; -1: it is none. */
static int64_t artefact_bytes(const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *files = folder >= 0 ? fdopendir(folder) : NULL;
    int64_t bytes = 0;
    int count = 0;
    bool good = files != NULL && strlen(name) == KEY_DIGITS &&
                strspn(name, "0123456789abcdef") == KEY_DIGITS;
    for (struct dirent *e; good && (e = readdir(files)) != NULL;) {
        struct stat about;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        good = ++count <= MOST_FILES &&
               fstatat(folder, e->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
               S_ISREG(about.st_mode);
        bytes += good ? about.st_blocks * 512 : 0;
    }
    if (files != NULL)
        closedir(files);
    else if (folder >= 0)
        close(folder);
    return good ? bytes : -1;
}

static void add_entry(entries *all, const char *path, int64_t bytes)
{
    struct stat about;
    if (lstat(path, &about) != 0)
        return;
    CSE_GROW(all->list, all->count, all->capacity);
    all->list[all->count++] =
        (entry){ .path = cse_strdup(path),
                 .bytes = bytes,
                 .changed_ns = (int64_t)about.st_mtim.tv_sec * 1000000000 + about.st_mtim.tv_nsec };
}

static int newest_first(const void *a, const void *b)
{
    const int64_t x = ((const entry *)a)->changed_ns, y = ((const entry *)b)->changed_ns;
    return (x < y) - (x > y);
}

/* What a checkpoint takes; -1: it is none. */
static int64_t checkpoint_bytes(const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    struct stat about;
    const size_t begin = strlen("checkpoint_"), length = strlen(name);
    const bool good = length > begin + 4 && strncmp(name, "checkpoint_", begin) == 0 &&
                      strcmp(name + length - 4, ".mdl") == 0 &&
                      strspn(name + begin, "0123456789") == length - begin - 4;
    return good && lstat(path, &about) == 0 && S_ISREG(about.st_mode) ? about.st_blocks * 512 : -1;
}

/* Removes all behind the newest `most` and behind `bytes`; returns what the others take. */
static int64_t keep_newest(entries *all, int most, int64_t bytes)
{
    int64_t sum = 0;
    if (all->count > 0)
        qsort(all->list, (size_t)all->count, sizeof *all->list, newest_first);
    for (int i = 0; i < all->count; i++) {
        const bool stays = i < most && all->list[i].bytes <= bytes - sum;
        sum += stays ? all->list[i].bytes : 0;
        if (!stays)
            cse_remove_tree(all->list[i].path);
        free(all->list[i].path);
    }
    free(all->list);
    return sum;
}

/* ---- one job ---- */

/* Returns what its folder takes afterwards. */
static int64_t bound_job(const cse_replay_kind *kind, const char *folder)
{
    entries all = { .count = 0 };
    DIR *names = opendir(folder);
    for (struct dirent *e;
         names != NULL && all.count < MOST_ENTRIES && (e = readdir(names)) != NULL;) {
        char path[PATH_MAX];
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            (size_t)snprintf(path, sizeof path, "%s/%s", folder, e->d_name) >= sizeof path)
            continue;
        const int64_t bytes = kind->artefacts ? artefact_bytes(path) : checkpoint_bytes(path);
        if (bytes < 0)
            cse_remove_tree(path);
        else
            add_entry(&all, path, bytes);
    }
    if (names != NULL)
        closedir(names);
    if (all.count == MOST_ENTRIES) /* no replay of csengine leaves so many */
        cse_remove_tree(folder);
    return keep_newest(&all, kind->most, kind->job_bytes);
}

/* Whether "ID.CREATED" is of a job (NULL: of one that has a folder in the queue's). */
static bool is_of(const char *root, const char *name, const char *job)
{
    char path[PATH_MAX];
    struct stat about;
    const char *dot = strrchr(name, '.');
    if (dot == NULL || dot == name)
        return false;
    const int length = (int)(dot - name);
    if (job != NULL)
        return strlen(job) == (size_t)length && strncmp(job, name, (size_t)length) == 0;
    return (size_t)snprintf(path, sizeof path, "%s/%.*s", root, length, name) < sizeof path &&
           stat_folder(path, &about);
}

/* ---- all ---- */

static DIR *open_all(const cse_replay_kind *kind, const char *root, char all[PATH_MAX])
{
    return (size_t)snprintf(all, PATH_MAX, "%s/%s", root, kind->name) < PATH_MAX ? opendir(all)
                                                                                 : NULL;
}

cse_status cse_replay_folder_make(const cse_replay_kind *kind, const char *root, const char *job,
                                  int64_t created_ms, char folder[PATH_MAX])
{
    char all[PATH_MAX];
    struct stat about;
    const int length = snprintf(all, sizeof all, "%s/%s", root, kind->name);
    if (length < 0 || length >= PATH_MAX ||
        snprintf(folder, PATH_MAX, "%s/%s.%" PRId64, all, job, created_ms) >= PATH_MAX)
        return cse_fail(CSE_TEMPORARY, "%s: the path is too long for what replays leave", root);
    if ((mkdir(all, 0700) != 0 && errno != EEXIST) || (mkdir(folder, 0700) != 0 && errno != EEXIST))
        return cse_fail(CSE_TEMPORARY, "%s: no folder for what replays leave: %s", folder,
                        strerror(errno));
    if (!stat_folder(all, &about) || !stat_folder(folder, &about))
        return cse_fail(CSE_TEMPORARY, "%s: is no folder; remove it", folder);
    utimensat(AT_FDCWD, folder, NULL, 0); /* else it counts as used when it was last changed */
    return CSE_OK;
}

void cse_replay_folders_bound(const cse_replay_kind *kind, const char *root)
{
    char all[PATH_MAX], path[PATH_MAX];
    entries jobs = { .count = 0 };
    DIR *names = open_all(kind, root, all);
    for (struct dirent *e; names != NULL && (e = readdir(names)) != NULL;) {
        struct stat about;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            (size_t)snprintf(path, sizeof path, "%s/%s", all, e->d_name) >= sizeof path)
            continue;
        if (!is_of(root, e->d_name, NULL) || !stat_folder(path, &about)) {
            cse_remove_tree(path);
            continue;
        }
        const struct timespec times[] = { about.st_atim, about.st_mtim };
        const int64_t bytes = bound_job(kind, path);
        utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW); /* when it was used, not tidied */
        add_entry(&jobs, path, bytes);
    }
    if (names != NULL)
        closedir(names);
    keep_newest(&jobs, INT_MAX, kind->all_bytes);
}

void cse_replay_folders_remove(const cse_replay_kind *kind, const char *root, const char *job)
{
    char all[PATH_MAX], path[PATH_MAX];
    DIR *names = open_all(kind, root, all);
    for (struct dirent *e; names != NULL && (e = readdir(names)) != NULL;)
        if (is_of(root, e->d_name, job) &&
            (size_t)snprintf(path, sizeof path, "%s/%s", all, e->d_name) < sizeof path)
            cse_remove_tree(path);
    if (names != NULL)
        closedir(names);
}
