/* Writes a file that is there as a whole or not at all. */
#include "dataloader/whole_file.h"

#include "engine/base/arena.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

cse_status cse_whole_file_write(const char *path, const void *bytes, size_t size)
{
    char *draft = cse_malloc(strlen(path) + 32);
    snprintf(draft, strlen(path) + 32, "%s.%ld.tmp", path, (long)getpid());
    FILE *file = fopen(draft, "wbxe");
    bool good = file != NULL && fwrite(bytes, 1, size, file) == size;
    good = file != NULL && fclose(file) == 0 && good;
    cse_status status = CSE_OK;
    if (!good || rename(draft, path) != 0) {
        status = cse_fail(CSE_IO, "%s: cannot be written: %s", path, strerror(errno));
        if (file != NULL)
            unlink(draft);
    }
    free(draft);
    return status;
}
