/* A file whose blocks are allocated and never written. */
#include "store/reserve.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/text.h"

void cse_reserve_open(cse_reserve *reserve, const char *directory, const char *name, long bytes)
{
    cse_text path = { 0 };
    cse_text_add(&path, "%s/%s", directory, name);
    *reserve = (cse_reserve){ .path = path.data, .bytes = bytes };
    cse_reserve_take(reserve);
}

void cse_reserve_take(cse_reserve *reserve)
{
    if (reserve->path == NULL || reserve->held)
        return;
    int file = open(reserve->path, O_CREAT | O_WRONLY | O_CLOEXEC, 0666);
    if (file < 0)
        return;
    reserve->held = posix_fallocate(file, 0, reserve->bytes) == 0;
    close(file);
    if (!reserve->held)
        unlink(reserve->path);
}

void cse_reserve_release(cse_reserve *reserve)
{
    if (reserve->held)
        unlink(reserve->path);
    reserve->held = false;
}

void cse_reserve_close(cse_reserve *reserve)
{
    cse_reserve_release(reserve);
    free(reserve->path);
    reserve->path = NULL;
}
