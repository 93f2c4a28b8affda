/* readdir, sorted: the order in which a file system lists its files is nobody's promise. */
#include "dataloader/files/file_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/confinement.h"
#include "engine/base/file_status.h"

enum { MOST_NAMES = 1 << 24 };

bool cse_name_ends(const char *name, const char *endings)
{
    const size_t length = strlen(name);
    for (const char *next = endings; *next != '\0';) {
        const size_t size = strcspn(next, "|");
        if (length > size && strncasecmp(name + length - size, next, size) == 0)
            return true;
        next += size + (next[size] == '|');
    }
    return false;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_folder(DIR *folder, const struct dirent *entry)
{
    struct stat info;
    if (entry->d_type != DT_UNKNOWN && entry->d_type != DT_LNK)
        return entry->d_type == DT_DIR;
    return fstatat(dirfd(folder), entry->d_name, &info, 0) == 0 && S_ISDIR(info.st_mode);
}

static cse_status read_names(cse_file_list *list, DIR *folder, const char *path,
                             const char *endings)
{
    const bool folders = strcmp(endings, "/") == 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] == '.' || is_folder(folder, entry) != folders ||
            (!folders && !cse_name_ends(entry->d_name, endings)))
            continue;
        if (list->count == MOST_NAMES)
            return cse_fail(CSE_DATA, "%s: it has more than %d files", path, MOST_NAMES);
        CSE_GROW(list->names, list->count, list->capacity);
        list->names[list->count++] = cse_arena_string(list->arena, entry->d_name);
    }
    return CSE_OK;
}

cse_status cse_file_list_read(cse_file_list *list, const char *path, const char *endings)
{
    const int descriptor = cse_confined_open(CSE_PATH_INPUT, path, O_RDONLY | O_DIRECTORY, 0);
    DIR *folder = descriptor >= 0 ? fdopendir(descriptor) : NULL;
    if (folder == NULL) {
        const int error = errno;
        if (descriptor >= 0)
            close(descriptor);
        if (error == EXDEV)
            return cse_confinement_refuse(CSE_PATH_INPUT, path);
        return cse_fail(cse_status_of_reading(error), "%s: cannot list the folder: %s", path,
                        strerror(error));
    }
    if (list->arena == NULL)
        list->arena = cse_arena_new();
    cse_status status = read_names(list, folder, path, endings);
    closedir(folder);
    if (list->count > 0)
        qsort(list->names, (size_t)list->count, sizeof *list->names, by_name);
    return status;
}

void cse_file_list_clear(cse_file_list *list)
{
    if (list->arena != NULL)
        cse_arena_destroy(&list->arena);
    free(list->names);
    *list = (cse_file_list){ 0 };
}
