/* Writes a file as a trial, and words the errors of writing. */
#include "engine/base/storage.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/file_status.h"
#include "engine/base/resource_limits.h"

/* Not zeros, which a file system may keep without room for them. */
static int write_bytes(int file, int64_t bytes)
{
    char block[4096];
    memset(block, 'x', sizeof block);
    while (bytes > 0) {
        const size_t size = bytes < (int64_t)sizeof block ? (size_t)bytes : sizeof block;
        const ssize_t written = write(file, block, size);
        if (written < 0 && errno != EINTR)
            return errno;
        bytes -= written > 0 ? written : 0;
    }
    return fsync(file) == 0 || errno == EINVAL ? 0 : errno;
}

int cse_storage_try(const char *directory, int64_t bytes)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof path, "%s/.tried-XXXXXX", directory) >= sizeof path)
        return ENAMETOOLONG;
    const int file = mkstemp(path);
    if (file < 0)
        return errno;
    const int error = write_bytes(file, bytes);
    close(file);
    unlink(path);
    return error;
}

bool cse_storage_is_at_fault(int error)
{
    return error == ENOSPC || error == EDQUOT || error == EIO || error == EFBIG || error == EROFS;
}

cse_status cse_storage_fail(const char *file, int error)
{
    char limits[200];
    return cse_fail_at(&(cse_error){ .status = cse_status_of_writing(error),
                                     .hint = error == ENOSPC || error == EDQUOT
                                                 ? "make room there, or name another folder"
                                                 : NULL },
                       "%s: cannot be written: %s%s", file, strerror(error),
                       cse_resource_limits_explain(error, limits, sizeof limits));
}
