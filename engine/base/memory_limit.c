/* Reads the files of cgroups that bound memory: of the own group, and of each above it. */
#include "engine/base/memory_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LINE_BYTES = 4096,
    MOST_LEVELS = 64,   /* of folders above a cgroup */
    OFFER_POINTS = 500, /* thousandths of the memory that a process seems to have more */
};

/* Above it, version 1 says that there is no limit. */
#define NO_LIMIT (INT64_C(1) << 60)

/* A cgroup with the files of one of the versions. */
typedef struct group {
    int version; /* 0: there is none */
    char mount[CSE_MEMORY_FILE_BYTES / 2], path[CSE_MEMORY_FILE_BYTES / 2];
} group;

/* ---- finding the cgroup ---- */

static bool has_word(const char *list, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, word, length) == 0 && strchr(",\n", at[length]) != NULL)
            return true;
    }
    return false;
}

/* A line "4:memory:/path", or "0::/path" of version 2. */
static bool take_path(const char *line, int version, char *path, size_t size)
{
    char controllers[LINE_BYTES];
    const char *first = strchr(line, ':'), *second = first ? strchr(first + 1, ':') : NULL;
    if (second == NULL)
        return false;
    snprintf(controllers, sizeof controllers, "%.*s", (int)(second - first - 1), first + 1);
    if (version == 2 ? controllers[0] != '\0' : !has_word(controllers, "memory"))
        return false;
    snprintf(path, size, "%.*s", (int)strcspn(second + 1, "\n"), second + 1);
    return true;
}

/* A line "36 35 0:31 ROOT MOUNT options - TYPE SOURCE OPTIONS": where ROOT of the hierarchy is. */
static bool take_mount(const char *line, int version, char root[LINE_BYTES], char mount[LINE_BYTES])
{
    char type[64], options[LINE_BYTES];
    const char *rest = strstr(line, " - ");
    if (rest == NULL || sscanf(line, "%*s %*s %*s %4095s %4095s", root, mount) != 2 ||
        sscanf(rest, " - %63s %*s %4095s", type, options) != 2)
        return false;
    return version == 2 ? strcmp(type, "cgroup2") == 0
                        : strcmp(type, "cgroup") == 0 && has_word(options, "memory");
}

static bool find_path(const char *file_name, int version, char *path, size_t size)
{
    char line[LINE_BYTES];
    FILE *file = fopen(file_name, "re");
    bool found = false;
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL)
        found = take_path(line, version, path, size);
    if (file != NULL)
        fclose(file);
    return found;
}

/* Below the mount: the path less that of the root that is mounted; a path beside it is not seen. */
static void place_below(group *g, const char *path, const char *root)
{
    const size_t length = strcmp(root, "/") == 0 ? 0 : strlen(root);
    const bool below = strncmp(path, root, length) == 0 && strstr(path, "..") == NULL &&
                       (path[length] == '/' || path[length] == '\0');
    snprintf(g->path, sizeof g->path, "%s", below ? path + length : "");
    if (strcmp(g->path, "/") == 0)
        g->path[0] = '\0';
}

static bool find_group(const cse_memory_sources *sources, int version, group *g)
{
    char line[LINE_BYTES], root[LINE_BYTES], mount[LINE_BYTES], path[LINE_BYTES];
    *g = (group){ .version = 0 };
    if (!find_path(sources->cgroup, version, path, sizeof path))
        return false;
    FILE *file = fopen(sources->mountinfo, "re");
    while (file != NULL && g->version == 0 && fgets(line, sizeof line, file) != NULL) {
        if (!take_mount(line, version, root, mount) || strlen(mount) >= sizeof g->mount ||
            strlen(path) >= sizeof g->path)
            continue;
        g->version = version;
        snprintf(g->mount, sizeof g->mount, "%.*s", (int)sizeof g->mount - 1, mount);
        place_below(g, path, root);
    }
    if (file != NULL)
        fclose(file);
    return g->version != 0;
}

/* ---- its files ---- */

static void name_file(const group *g, const char *name, char file[CSE_MEMORY_FILE_BYTES + 64])
{
    snprintf(file, CSE_MEMORY_FILE_BYTES + 64, "%s%s/%s", g->mount, g->path, name);
}

/* The number in a file; -1: there is none, or no limit ("max"). */
static int64_t read_number(const group *g, const char *name)
{
    char path[CSE_MEMORY_FILE_BYTES + 64];
    long long number = -1;
    name_file(g, name, path);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return -1;
    if (fscanf(file, "%lld", &number) != 1 || number > NO_LIMIT)
        number = -1;
    fclose(file);
    return number;
}

/* The number behind a word at the start of a line, times `unit`; -1: there is none. */
static int64_t read_word(const char *path, const char *word, int64_t unit)
{
    char line[LINE_BYTES];
    const size_t length = strlen(word);
    long long number = -1;
    FILE *file = fopen(path, "re");
    while (file != NULL && number < 0 && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, word, length) == 0 && (line[length] == ' ' || line[length] == ':'))
            number = strtoll(line + length + 1, NULL, 10);
    if (file != NULL)
        fclose(file);
    return number < 0 ? -1 : number * unit;
}

static int64_t read_word_in(const group *g, const char *name, const char *word)
{
    char path[CSE_MEMORY_FILE_BYTES + 64];
    name_file(g, name, path);
    return read_word(path, word, 1);
}

/* ---- limits ---- */

static int64_t above_zero(int64_t number)
{
    return number > 0 ? number : 0;
}

/* What is in use and cannot be dropped: not the pages of files. */
static int64_t used_bytes(const group *g)
{
    const bool second = g->version == 2;
    const int64_t used = read_number(g, second ? "memory.current" : "memory.usage_in_bytes");
    const int64_t files =
        above_zero(
            read_word_in(g, "memory.stat", second ? "inactive_file" : "total_inactive_file")) +
        above_zero(read_word_in(g, "memory.stat", second ? "active_file" : "total_active_file"));
    return above_zero(above_zero(used) - files);
}

static int64_t swap_beside(const group *g, int64_t bytes, int64_t swap)
{
    const int64_t both = g->version == 2 ? -1 : read_number(g, "memory.memsw.limit_in_bytes");
    const int64_t own = g->version == 2 ? read_number(g, "memory.swap.max")
                        : both < 0      ? -1
                                        : above_zero(both - bytes);
    return own < 0 || own > swap ? swap : own;
}

static void take_limit(const group *g, const char *name, cse_memory_limit *least, int64_t swap)
{
    const int64_t bytes = read_number(g, name);
    if (bytes < 0)
        return;
    const int64_t beside = swap_beside(g, bytes, swap), left = above_zero(bytes - used_bytes(g));
    if (left < least->free_bytes)
        least->free_bytes = left;
    if (least->bytes > 0 && bytes + beside >= least->bytes + least->swap_bytes)
        return;
    char file[CSE_MEMORY_FILE_BYTES + 64];
    name_file(g, name, file);
    snprintf(least->file, sizeof least->file, "%.*s", (int)sizeof least->file - 1, file);
    least->bytes = bytes;
    least->swap_bytes = beside;
}

/* Of the group and of all above it. */
static void take_limits(group g, cse_memory_limit *least)
{
    const int64_t swap = least->swap_bytes;
    for (int level = 0; level < MOST_LEVELS; level++) {
        if (g.version == 2) {
            take_limit(&g, "memory.max", least, swap);
            take_limit(&g, "memory.high", least, swap);
        } else {
            take_limit(&g, "memory.limit_in_bytes", least, swap);
        }
        char *last = strrchr(g.path, '/');
        if (last == NULL)
            return;
        *last = '\0';
    }
}

cse_memory_limit cse_memory_limit_find(const cse_memory_sources *sources)
{
    group g;
    cse_memory_limit limit = {
        .bytes = above_zero(read_word(sources->meminfo, "MemTotal", 1024)),
        .free_bytes = above_zero(read_word(sources->meminfo, "MemAvailable", 1024)),
        .swap_bytes = above_zero(read_word(sources->meminfo, "SwapTotal", 1024)),
    };
    for (int version = 1; version <= 2; version++)
        if (find_group(sources, version, &g))
            take_limits(g, &limit);
    if (limit.free_bytes > limit.bytes)
        limit.free_bytes = limit.bytes;
    return limit;
}

/* ---- kills ---- */

int64_t cse_memory_kills_count(const cse_memory_sources *sources)
{
    group g;
    int64_t count = -1;
    if (find_group(sources, 1, &g))
        count = read_word_in(&g, "memory.oom_control", "oom_kill");
    if (count < 0 && find_group(sources, 2, &g))
        count = read_word_in(&g, "memory.events", "oom_kill");
    return count >= 0 ? count : read_word(sources->vmstat, "oom_kill", 1);
}

/* ---- of this process ---- */

static const cse_memory_sources own = { "/proc/self/cgroup", "/proc/self/mountinfo",
                                        "/proc/meminfo", "/proc/vmstat" };

cse_memory_limit cse_memory_limit_look(void)
{
    return cse_memory_limit_find(&own);
}

int64_t cse_memory_kills_look(void)
{
    return cse_memory_kills_count(&own);
}

void cse_memory_offer_self(void)
{
    char text[16];
    int points = 0;
    const int file = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
    const ssize_t size = file >= 0 ? read(file, text, sizeof text - 1) : -1;
    if (size > 0) {
        text[size] = '\0';
        points = atoi(text) + OFFER_POINTS;
        const int length = snprintf(text, sizeof text, "%d", points < 1000 ? points : 1000);
        /* Where it may not be written the kernel chooses as it does. */
        if (pwrite(file, text, (size_t)length, 0) != length)
            errno = 0;
    }
    if (file >= 0)
        close(file);
}
