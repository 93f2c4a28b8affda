/* Choice of the workers' executable. */
#include "workers/control/process.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

cse_status cse_worker_executable(const char *wanted, char *path, size_t size)
{
    const char *from_environment = getenv("CSENGINE_EXECUTABLE");
    char own[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    own[length > 0 ? length : 0] = '\0';
    const char *slash = strrchr(own, '/');
    const char *origin, *choice;
    if (wanted != NULL && wanted[0] != '\0') {
        choice = wanted;
        origin = "worker_executable";
    } else if (from_environment != NULL && from_environment[0] != '\0') {
        choice = from_environment;
        origin = "CSENGINE_EXECUTABLE";
    } else if (slash != NULL && strcmp(slash, "/csengine") == 0) {
        choice = own;
        origin = "this program";
    } else {
        choice = CSE_BINDIR "/csengine";
        origin = "the installed program";
    }
    if (access(choice, X_OK) != 0)
        return cse_fail(CSE_UNAVAILABLE,
                        "worker executable %s (%s): %m; install csengine, or give its path in "
                        "CSENGINE_EXECUTABLE",
                        choice, origin);
    if ((size_t)snprintf(path, size, "%s", choice) >= size)
        return cse_fail(CSE_UNAVAILABLE, "worker executable %s (%s): the path is too long", choice,
                        origin);
    return CSE_OK;
}
