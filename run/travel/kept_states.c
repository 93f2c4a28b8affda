/* When one was used is when its file was changed: nothing else changes it. */
#include "run/travel/kept_states.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/formats/checkpoint/checkpoint.h"
#include "run/travel/run_checkpoints.h"

#define PART ".part-" /* how the names of files begin that are not complete */
enum { PART_SECONDS = 3600, COPY_BYTES = 1 << 20 };

static bool is_file(const char *path, struct stat *about)
{
    return lstat(path, about) == 0 && S_ISREG(about->st_mode);
}

static bool is_folder(const char *path)
{
    struct stat about;
    return lstat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* ---- finding ---- */

int64_t cse_kept_states_find(const cse_kept_states *kept, const cse_run_chain *run, int64_t after,
                             int64_t before, cse_text *words)
{
    int64_t *steps = NULL, found = -1;
    int count = 0;
    if (kept->most < 1 || !is_folder(kept->folder) ||
        cse_checkpoint_steps(kept->folder, &steps, &count) != CSE_OK)
        return -1;
    for (int i = 0; i < count && found < 0; i++) {
        char path[PATH_MAX];
        struct stat about;
        const cse_chain_step *row = cse_run_chain_at(run, steps[i]);
        if (steps[i] <= after || steps[i] >= before || row == NULL)
            continue;
        cse_checkpoint_path(kept->folder, steps[i], path, sizeof path);
        if (is_file(path, &about) && cse_checkpoint_is_of_step(path, row)) {
            found = steps[i];
            continue;
        }
        unlink(path);
        cse_text_add(words,
                     "; states of step %" PRId64 " that an earlier replay had left were "
                     "damaged, or not of this run, and were removed",
                     steps[i]);
    }
    free(steps);
    return found;
}

void cse_kept_states_touch(const cse_kept_states *kept, int64_t step)
{
    char path[PATH_MAX];
    cse_checkpoint_path(kept->folder, step, path, sizeof path);
    /* The kernel's own time of a file is that of its last tick, which two of them may have. */
    struct timespec times[2];
    clock_gettime(CLOCK_REALTIME, &times[0]);
    times[1] = times[0];
    utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
}

void cse_kept_states_remove(const cse_kept_states *kept, int64_t step)
{
    char path[PATH_MAX];
    cse_checkpoint_path(kept->folder, step, path, sizeof path);
    unlink(path);
}

/* ---- adding ---- */

static bool copy_bytes(int from, int to)
{
    char *bytes = cse_malloc(COPY_BYTES);
    ssize_t got = 0;
    bool good = true;
    while (good && (got = read(from, bytes, COPY_BYTES)) > 0)
        for (ssize_t done = 0, put = 0; good && done < got; done += put) {
            put = write(to, bytes + done, (size_t)(got - done));
            good = put > 0;
        }
    free(bytes);
    return good && got == 0;
}

/* On one file system it is the same file. */
static bool copy_file(const char *from, const char *to)
{
    if (link(from, to) == 0)
        return true;
    const int in = open(from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    const int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    const bool copied = in >= 0 && out >= 0 && copy_bytes(in, out);
    if (in >= 0)
        close(in);
    return (out < 0 || close(out) == 0) && copied;
}

/* What processes that were killed have left. */
static void remove_parts(const char *folder)
{
    DIR *names = opendir(folder);
    for (struct dirent *e; names != NULL && (e = readdir(names)) != NULL;) {
        char path[PATH_MAX];
        struct stat about;
        if (strncmp(e->d_name, PART, strlen(PART)) == 0 &&
            (size_t)snprintf(path, sizeof path, "%s/%s", folder, e->d_name) < sizeof path &&
            is_file(path, &about) && about.st_ctime < time(NULL) - PART_SECONDS)
            unlink(path);
    }
    if (names != NULL)
        closedir(names);
}

/* Removes the least lately used one; false: there are no more than may stay. */
static bool remove_oldest(const cse_kept_states *kept)
{
    int64_t *steps = NULL, oldest_ns = INT64_MAX, oldest = -1, bytes = 0;
    int count = 0, files = 0;
    if (cse_checkpoint_steps(kept->folder, &steps, &count) != CSE_OK)
        return false;
    for (int i = 0; i < count; i++) {
        char path[PATH_MAX];
        struct stat about;
        cse_checkpoint_path(kept->folder, steps[i], path, sizeof path);
        if (!is_file(path, &about))
            continue;
        const int64_t used_ns = (int64_t)about.st_mtim.tv_sec * 1000000000 + about.st_mtim.tv_nsec;
        files++;
        bytes += about.st_size;
        oldest = used_ns < oldest_ns ? steps[i] : oldest;
        oldest_ns = used_ns < oldest_ns ? used_ns : oldest_ns;
    }
    free(steps);
    if (files <= kept->most && (kept->most_bytes == 0 || bytes <= kept->most_bytes))
        return false;
    cse_kept_states_remove(kept, oldest);
    return true;
}

void cse_kept_states_add(const cse_kept_states *kept, const char *checkpoint, int64_t step)
{
    char part[PATH_MAX], path[PATH_MAX];
    struct stat about;
    if (kept->most < 1 || !is_file(checkpoint, &about) ||
        (kept->most_bytes > 0 && about.st_size > kept->most_bytes) ||
        (mkdir(kept->folder, 0700) != 0 && errno != EEXIST) || !is_folder(kept->folder))
        return;
    remove_parts(kept->folder);
    cse_checkpoint_path(kept->folder, step, path, sizeof path);
    if (snprintf(part, sizeof part, "%s/" PART "%ld-%" PRId64, kept->folder, (long)getpid(),
                 step) >= (int)sizeof part)
        return;
    if (copy_file(checkpoint, part) && rename(part, path) == 0)
        cse_kept_states_touch(kept, step);
    unlink(part); /* also where it was the same file already */
    for (int i = 0; i <= kept->most && remove_oldest(kept); i++)
        ;
}
