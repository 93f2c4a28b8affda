/* mkdir for each prefix of the path, where an existing directory is accepted; and nftw, which
 * visits the entries of a directory before the directory. */
#include "engine/base/directory.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/confinement.h"
#include "engine/base/file_status.h"

static cse_status failed(const char *what, const char *path, const char *at)
{
    return cse_fail(cse_status_of_writing(errno), "%s %s: %s cannot be created: %s", what, path, at,
                    strerror(errno));
}

static cse_status make_confined(const char *what, const char *path)
{
    if (cse_confined_make_directories(path) == 0)
        return CSE_OK;
    return errno == EXDEV ? cse_confinement_refuse(CSE_PATH_OUTPUT, path)
                          : failed(what, path, path);
}

cse_status cse_make_directories(const char *what, const char *path)
{
    char partial[PATH_MAX];
    if (cse_confinement_view() != NULL)
        return make_confined(what, path);
    if (*path == '\0' || strlen(path) >= sizeof partial)
        return cse_fail(CSE_CANNOT_CREATE, "%s: a path of 1 to %zu bytes is accepted, this has %zu",
                        what, sizeof partial - 1, strlen(path));
    snprintf(partial, sizeof partial, "%s", path);
    for (char *c = partial + 1;; c++) {
        char kept = *c;
        if (kept != '/' && kept != '\0')
            continue;
        *c = '\0';
        struct stat about;
        if (stat(partial, &about) == 0 && !S_ISDIR(about.st_mode))
            return cse_fail(CSE_CANNOT_CREATE, "%s %s: %s is a file; give the path of a directory",
                            what, path, partial);
        if (mkdir(partial, 0777) != 0 && errno != EEXIST)
            return failed(what, path, partial);
        if (kept == '\0')
            return CSE_OK;
        *c = kept;
    }
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *walk)
{
    (void)about;
    (void)kind;
    (void)walk;
    remove(path); /* failures are ignored: then the directories above remain too */
    return 0;
}

void cse_remove_tree(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
