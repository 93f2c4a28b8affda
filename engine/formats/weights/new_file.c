/* Written beside, synchronised, renamed. */
#include "engine/formats/weights/new_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/file_status.h"

static cse_status failed(const char *path, const char *what)
{
    const int error = errno;
    return cse_fail(cse_status_of_writing(error), "%s: cannot be %s: %s", path, what,
                    strerror(error));
}

static cse_status set_names(cse_new_file *file, const char *path)
{
    *file = (cse_new_file){ .path = path, .descriptor = -1 };
    if (*path == '\0' || strlen(path) + sizeof ".tmp" > sizeof file->temporary)
        return cse_fail(CSE_CANNOT_CREATE, "'%s' is not a name that can be written to", path);
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    snprintf(file->temporary, sizeof file->temporary, "%.*s.tmp", (int)length, path);
    return CSE_OK;
}

static cse_status lock(cse_new_file *file)
{
    if (flock(file->descriptor, LOCK_EX | LOCK_NB) == 0)
        return CSE_OK;
    close(file->descriptor);
    file->descriptor = -1;
    return cse_fail(CSE_TEMPORARY, "%s: another process is writing it", file->path);
}

cse_status cse_new_file_open(cse_new_file *file, const char *path)
{
    CSE_TRY(set_names(file, path));
    file->descriptor = open(file->temporary, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (file->descriptor < 0)
        return failed(path, "created");
    CSE_TRY(lock(file));
    return ftruncate(file->descriptor, 0) == 0 ? CSE_OK
                                               : cse_new_file_close(file, failed(path, "emptied"));
}

/* Makes the new name last. Some file systems cannot and say EINVAL. */
static void synchronise_folder(const char *path)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash != NULL)
        slash[slash == folder] = '\0';
    const int descriptor = open(slash != NULL ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0)
        return;
    (void)fsync(descriptor);
    close(descriptor);
}

static cse_status publish(cse_new_file *file, cse_status status)
{
    if (status == CSE_OK && fsync(file->descriptor) != 0)
        status = failed(file->path, "synchronised");
    if (status == CSE_OK && rename(file->temporary, file->path) != 0)
        status = failed(file->path, "created");
    if (status == CSE_OK)
        synchronise_folder(file->path);
    return status;
}

cse_status cse_new_file_close(cse_new_file *file, cse_status status)
{
    status = publish(file, status);
    if (status != CSE_OK)
        unlink(file->temporary);
    close(file->descriptor);
    return status;
}

/* ---- folders ---- */

/* Removes the files in it, and the folders, whose files are taken away first where `deep`. */
static void empty_opened(DIR *entries, bool deep)
{
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        const int in = dirfd(entries);
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            unlinkat(in, entry->d_name, 0) == 0 || !deep)
            continue;
        const int below =
            openat(in, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        DIR *folder = below >= 0 ? fdopendir(below) : NULL;
        if (folder != NULL)
            empty_opened(folder, false);
        (void)unlinkat(in, entry->d_name, AT_REMOVEDIR);
    }
    closedir(entries);
}

/* A writer that was killed left them. */
static void empty(const char *path)
{
    DIR *entries = opendir(path);
    if (entries != NULL)
        empty_opened(entries, true);
}

cse_status cse_new_folder_open(cse_new_folder *folder, const char *path)
{
    CSE_TRY(set_names(folder, path));
    if (access(path, F_OK) == 0)
        return cse_fail(CSE_CANNOT_CREATE, "%s: is there already; give a name that is new", path);
    if (mkdir(folder->temporary, 0777) != 0 && errno != EEXIST)
        return failed(path, "created");
    folder->descriptor = open(folder->temporary, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (folder->descriptor < 0)
        return failed(path, "created");
    CSE_TRY(lock(folder));
    empty(folder->temporary);
    return CSE_OK;
}

cse_status cse_new_folder_close(cse_new_folder *folder, cse_status status)
{
    status = publish(folder, status);
    if (status != CSE_OK) {
        empty(folder->temporary);
        rmdir(folder->temporary);
    }
    close(folder->descriptor);
    return status;
}
