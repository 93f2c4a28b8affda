/* read(2) until the size that the file has; a draft that takes the name when it is whole. */
#include "dataloader/whole_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "csengine/input.h"
#include "engine/base/arena.h"

static cse_status read_all(cse_whole_file *file, int descriptor, const char *path, int64_t most)
{
    struct stat info;
    if (fstat(descriptor, &info) != 0)
        return cse_fail(CSE_IO, "%s: %s", path, strerror(errno));
    if (info.st_size > most)
        return cse_fail(CSE_DATA, "%s: it has %" PRId64 " bytes, accepted are %" PRId64, path,
                        (int64_t)info.st_size, most);
    if ((size_t)info.st_size > file->capacity) {
        file->capacity = (size_t)info.st_size * 2;
        file->bytes = cse_realloc(file->bytes, file->capacity);
    }
    for (file->size = 0; file->size < (size_t)info.st_size;) {
        const ssize_t got =
            read(descriptor, file->bytes + file->size, (size_t)info.st_size - file->size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return cse_fail(CSE_IO, "%s: reading failed: %s", path, strerror(errno));
        if (got == 0)
            break;
        file->size += (size_t)got;
    }
    return CSE_OK;
}

cse_status cse_whole_file_read(cse_whole_file *file, const char *path, int64_t most)
{
    int descriptor;
    CSE_TRY(cse_input_open_file(path, &descriptor));
    cse_status status = read_all(file, descriptor, path, most);
    close(descriptor);
    return status;
}

void cse_whole_file_clear(cse_whole_file *file)
{
    free(file->bytes);
    *file = (cse_whole_file){ 0 };
}
