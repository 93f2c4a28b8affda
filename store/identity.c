/* A log without a byte is no log: readers leave such ones. */
#include "store/identity.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int64_t milliseconds(struct timespec time)
{
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void add_file(cse_store_identity *identity, const char *path)
{
    struct stat about;
    const size_t used = strlen(identity->text);
    char *end = identity->text + used;
    const size_t left = sizeof identity->text - used;
    if (stat(path, &about) != 0 || about.st_size == 0) {
        snprintf(end, left, "-;");
        return;
    }
    snprintf(end, left, "%llx.%llx.%llx.%lx.%llx.%lx;", (unsigned long long)about.st_ino,
             (unsigned long long)about.st_size, (unsigned long long)about.st_mtim.tv_sec,
             (unsigned long)about.st_mtim.tv_nsec, (unsigned long long)about.st_ctim.tv_sec,
             (unsigned long)about.st_ctim.tv_nsec);
    const int64_t times[] = { milliseconds(about.st_mtim), milliseconds(about.st_ctim) };
    for (int i = 0; i < 2; i++)
        if (times[i] > identity->changed_ms)
            identity->changed_ms = times[i];
}

cse_store_identity cse_store_identify(const char *model_dir)
{
    static const char *const names[] = { "run.db", "run.db-wal", "run.behind" };
    cse_store_identity identity = { .changed_ms = 0 };
    char path[PATH_MAX + 16];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", model_dir, names[i]);
        add_file(&identity, path);
    }
    return identity;
}
