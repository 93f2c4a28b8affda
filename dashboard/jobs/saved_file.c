/* Links are followed to the end, and what lies outside of the run's directory is not served. */
#include "dashboard/jobs/saved_file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool cse_saved_file(const char *model_dir, const char *name, char path[CSE_JOB_PATH_BYTES])
{
    char joined[2 * PATH_MAX], real[PATH_MAX], directory[PATH_MAX];
    struct stat about;
    if (name == NULL || realpath(model_dir, directory) == NULL)
        return false;
    if (name[0] == '/')
        snprintf(joined, sizeof joined, "%s", name);
    else
        snprintf(joined, sizeof joined, "%s/%s", model_dir, name);
    if (realpath(joined, real) == NULL &&
        name[0] != '/') /* relative to where the run was started */
        snprintf(joined, sizeof joined, "%s", name);
    if (realpath(joined, real) == NULL)
        return false;
    size_t length = strlen(directory);
    if (strncmp(real, directory, length) != 0 || real[length] != '/' ||
        strlen(real) >= CSE_JOB_PATH_BYTES || stat(real, &about) != 0 || !S_ISREG(about.st_mode))
        return false;
    memcpy(path, real, strlen(real) + 1);
    return true;
}
