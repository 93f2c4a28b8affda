/* Atomic writing of a checkpoint: the final name always holds a complete file, or none.
 *
 * Everything is written to "NAME.tmp" in the same directory, flushed, read again and compared with
 * its digests, fsynced, and only then renamed; fsync of the directory makes the rename durable. A
 * process that is killed on the way leaves "NAME.tmp" behind, which the next writer of that name
 * uses again: the name is fixed and guarded by a lock. Another run saves at other steps, so that it
 * first removes what nobody holds the lock of: leftovers do not pile up. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "engine/formats/checkpoint/checkpoint.h"
#include "engine/formats/checkpoint/digest.h"
#include "engine/formats/checkpoint/format.h"

typedef struct saving {
    const char *path;
    char temporary[PATH_MAX], directory[PATH_MAX];
    int descriptor;
    char *digest;
} saving;

/* Fails with the status and message for errno. */
static cse_status system_failed(const char *path, const char *what)
{
    int error = errno;
    cse_status status =
        error == EACCES || error == EPERM || error == EROFS ? CSE_PERMISSION
        : error == ENOENT || error == ENOTDIR || error == EISDIR || error == ENAMETOOLONG
            ? CSE_CANNOT_CREATE
            : CSE_IO;
    return cse_fail(status, "%s: cannot be %s: %s", path, what, strerror(error));
}

static cse_status set_names(saving *save)
{
    const char *slash = strrchr(save->path, '/');
    size_t length = strlen(save->path);
    if (length == 0 || length + sizeof ".tmp" > PATH_MAX || (slash != NULL && slash[1] == '\0'))
        return cse_fail(CSE_CANNOT_CREATE, "'%s' is not a file name for a checkpoint", save->path);
    snprintf(save->temporary, sizeof save->temporary, "%s.tmp", save->path);
    if (slash == NULL)
        snprintf(save->directory, sizeof save->directory, ".");
    else if (slash == save->path)
        snprintf(save->directory, sizeof save->directory, "/");
    else
        snprintf(save->directory, sizeof save->directory, "%.*s", (int)(slash - save->path),
                 save->path);
    return CSE_OK;
}

/* Fails before a byte is written when the file system cannot hold the file. Quotas and other
 * writers can still fill it meanwhile; then writing fails. */
static cse_status check_space(const saving *save, const cse_checkpoint *checkpoint)
{
    struct statvfs space;
    if (statvfs(save->directory, &space) != 0)
        return system_failed(save->directory, "examined");
    uint64_t needed = 65536;
    for (int i = 0; i < checkpoint->tensor_count; i++)
        needed += cse_checkpoint_tensor_bytes(&checkpoint->tensors[i]) + 2048;
    uint64_t there = (uint64_t)space.f_bavail * space.f_frsize;
    if (there < needed)
        return cse_fail(CSE_IO,
                        "%s: no space: the checkpoint needs %llu bytes, %s has %llu free; free "
                        "some or set another model_dir",
                        save->path, (unsigned long long)needed, save->directory,
                        (unsigned long long)there);
    return CSE_OK;
}

/* Whether the open file still has the temporary name (another writer may have renamed it). */
static bool is_ours(const saving *save)
{
    struct stat by_descriptor, by_name;
    return fstat(save->descriptor, &by_descriptor) == 0 && lstat(save->temporary, &by_name) == 0 &&
           by_descriptor.st_dev == by_name.st_dev && by_descriptor.st_ino == by_name.st_ino;
}

static cse_status open_temporary(saving *save)
{
    for (int attempt = 0; attempt < 8; attempt++) {
        save->descriptor = open(save->temporary, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
        if (save->descriptor < 0)
            return system_failed(save->temporary, "created");
        bool taken = flock(save->descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        if (!taken && is_ours(save)) {
            if (ftruncate(save->descriptor, 0) == 0)
                return CSE_OK;
            cse_status status = system_failed(save->temporary, "emptied");
            unlink(save->temporary);
            close(save->descriptor);
            return status;
        }
        close(save->descriptor);
        if (taken)
            break;
    }
    return cse_fail(CSE_TEMPORARY, "%s: another process is writing this checkpoint", save->path);
}

static cse_status sync_directory(const saving *save)
{
    int descriptor = open(save->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0)
        return system_failed(save->directory, "opened");
    /* Some file systems do not support fsync of a directory and return EINVAL. */
    bool failed = fsync(descriptor) != 0 && errno != EINVAL;
    cse_status status = failed ? system_failed(save->directory, "synchronised") : CSE_OK;
    close(descriptor);
    return status;
}

static cse_status write_and_publish(saving *save, const cse_checkpoint_format *format,
                                    const cse_checkpoint *checkpoint)
{
    const cse_format_target to = { save->descriptor, save->path, save->digest };
    CSE_TRY(format->write(checkpoint, &to));
    CSE_TRY(format->confirm(checkpoint, &to));
    if (fsync(save->descriptor) != 0)
        return system_failed(save->temporary, "synchronised");
    if (rename(save->temporary, save->path) != 0)
        return system_failed(save->path, "created");
    return CSE_OK;
}

/* Chosen by the extension of the name; HDF5 for any other name. */
static const cse_checkpoint_format *format_of(const char *path)
{
    size_t length = strlen(path);
    extern const cse_checkpoint_format cse_format_hdf5;
    for (const cse_checkpoint_format *const *row = cse_checkpoint_formats; *row != NULL; row++) {
        size_t extension = strlen((*row)->extension);
        if (length > extension && strcmp(path + length - extension, (*row)->extension) == 0)
            return *row;
    }
    return &cse_format_hdf5;
}

cse_status cse_checkpoint_save(const cse_checkpoint *checkpoint, const char *path)
{
    return cse_checkpoint_save_digest(checkpoint, path, NULL);
}

cse_status cse_checkpoint_save_digest(const cse_checkpoint *checkpoint, const char *path,
                                      char digest[65])
{
    saving save = { .path = path, .digest = digest };
    CSE_TRY(set_names(&save));
    CSE_TRY(check_space(&save, checkpoint));
    CSE_TRY(open_temporary(&save));
    cse_status status = write_and_publish(&save, format_of(path), checkpoint);
    /* Removed while the lock is still held: it cannot be another writer's yet. */
    if (status != CSE_OK)
        unlink(save.temporary);
    close(save.descriptor);
    return status == CSE_OK ? sync_directory(&save) : status;
}

cse_status cse_checkpoint_fill(const cse_checkpoint *checkpoint, const cse_format_target *to)
{
    return format_of(to->path)->write(checkpoint, to);
}

cse_status cse_checkpoint_write(const cse_checkpoint *checkpoint, int descriptor, const char *path)
{
    const cse_format_target to = { .descriptor = descriptor, .path = path };
    const cse_checkpoint_format *format = format_of(path);
    CSE_TRY(format->write(checkpoint, &to));
    return format->confirm(checkpoint, &to);
}

/* ---- leftovers ---- */

static bool is_temporary(const char *name)
{
    static const char ending[] = ".mdl.tmp";
    const size_t length = strlen(name);
    return length >= sizeof ending && strcmp(name + length - (sizeof ending - 1), ending) == 0;
}

/* Whoever has the lock is writing; the name goes while the lock is held, as in saving. */
static void remove_abandoned(const char *path)
{
    saving left = { .path = path };
    snprintf(left.temporary, sizeof left.temporary, "%s", path);
    left.descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (left.descriptor < 0)
        return;
    if (flock(left.descriptor, LOCK_EX | LOCK_NB) == 0 && is_ours(&left))
        unlink(path);
    close(left.descriptor);
}

void cse_checkpoint_sweep(const char *directory)
{
    char path[PATH_MAX];
    DIR *entries = opendir(directory);
    if (entries == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;)
        if (is_temporary(entry->d_name) &&
            (size_t)snprintf(path, sizeof path, "%s/%s", directory, entry->d_name) < sizeof path)
            remove_abandoned(path);
    closedir(entries);
}

void cse_checkpoint_remove_part(const char *path)
{
    saving save = { .path = path };
    if (set_names(&save) == CSE_OK)
        remove_abandoned(save.temporary);
}
