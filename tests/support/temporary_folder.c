/* Removes depth first, so that each folder is empty when its turn comes; does not follow links. */
#include "tests/support/temporary_folder.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>

static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *at)
{
    (void)about;
    (void)kind;
    (void)at;
    return remove(path);
}

bool temporary_folder_remove(const char *path)
{
    enum { MOST_OPEN = 16 };
    return nftw(path, remove_entry, MOST_OPEN, FTW_DEPTH | FTW_PHYS) == 0 || errno == ENOENT;
}
