/* Files are told by their text: one with an error in it is found, too. */
#include "cli/runs/training_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_DEPTH = 32, MOST_FILES = 10000, MOST_BYTES = 1 << 20 };

static bool is_yaml(const char *name)
{
    const char *ending = strrchr(name, '.');
    return ending != NULL && (strcmp(ending, ".yaml") == 0 || strcmp(ending, ".yml") == 0);
}

/* Whether a line of the outermost level is "trainer:". */
static bool has_trainer(const char *text)
{
    static const char key[] = "trainer:";
    long indent = -1;
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        const long own = (long)strspn(line, " ");
        const char first = line[own];
        if (first == '\0' || strchr("\r\n#%", first) != NULL || strncmp(line, "---", 3) == 0)
            continue;
        indent = indent < 0 ? own : indent;
        if (own == indent && strncmp(line + own, key, sizeof key - 1) == 0)
            return true;
    }
    return false;
}

static bool trains(const char *path)
{
    char *text = cse_calloc(MOST_BYTES + 1, 1);
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t size = 0, part = 0;
    while (file >= 0 && size < MOST_BYTES &&
           (part = read(file, text + size, MOST_BYTES - (size_t)size)) > 0)
        size += part;
    if (file >= 0)
        close(file);
    const bool found = has_trainer(text);
    free(text);
    return found;
}

static void add(cse_training_files *files, const char *path)
{
    CSE_GROW(files->paths, files->count, files->capacity);
    files->paths[files->count++] = cse_arena_string(files->arena, path);
}

static void walk(cse_training_files *files, const char *folder, int depth)
{
    DIR *directory = opendir(folder);
    struct dirent *entry;
    while (directory != NULL && (entry = readdir(directory)) != NULL && files->count < MOST_FILES) {
        struct stat info;
        const char *path = cse_arena_printf(files->arena, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] == '.' || lstat(path, &info) != 0)
            continue;
        if (S_ISDIR(info.st_mode) && depth < MOST_DEPTH)
            walk(files, path, depth + 1);
        else if (S_ISREG(info.st_mode) && is_yaml(entry->d_name) && trains(path))
            add(files, path);
    }
    if (directory != NULL)
        closedir(directory);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

cse_status cse_training_files_find(const char *folder, cse_training_files *files)
{
    struct stat info;
    if (stat(folder, &info) != 0)
        return cse_fail(CSE_NO_INPUT, "%s: %s", folder, strerror(errno));
    if (!S_ISDIR(info.st_mode))
        return cse_fail(CSE_NO_INPUT, "%s: it is no folder", folder);
    files->arena = cse_arena_new();
    walk(files, folder, 0);
    if (files->count == 0)
        return cse_fail(CSE_NO_INPUT,
                        "%s: no YAML file below it has the key trainer: give a checkout of the "
                        "ModelZoo, or a folder of configurations",
                        folder);
    qsort(files->paths, (size_t)files->count, sizeof *files->paths, by_name);
    return CSE_OK;
}

void cse_training_files_clear(cse_training_files *files)
{
    free(files->paths);
    if (files->arena != NULL)
        cse_arena_destroy(&files->arena);
}
