/* The name of the draft holds the process, so that two processes write two drafts. */
#include "engine/base/file_replace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/arena.h"

cse_status cse_file_replace(const char *path, const void *bytes, size_t size)
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
