/* O_TMPFILE, or a name that is gone at once where the file system has none. */
#include "engine/base/unnamed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

static int with_name(const char *directory)
{
    char path[PATH_BYTES];
    if ((size_t)snprintf(path, sizeof path, "%s/.csengine-XXXXXX", directory) >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    const int descriptor = mkostemp(path, O_CLOEXEC);
    if (descriptor >= 0)
        unlink(path);
    return descriptor;
}

int cse_unnamed_file(const char *directory)
{
    const int descriptor = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    const bool is_known = errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL;
    return descriptor >= 0 || is_known ? descriptor : with_name(directory);
}
