/* The run store looks after the files that it writes itself (store/guard.h). */
#include "run/job/job_folder.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/directory.h"
#include "engine/base/log.h"
#include "run/job/job_hosts.h"

#define LOOK_NS INT64_C(1000000000)

void cse_job_guard_folder(cse_job *j)
{
    char path[PATH_MAX];
    struct stat about;
    const char *model_dir = j->session->configuration.model_dir;
    const int64_t now_ns = cse_clock_ns();
    if (now_ns - j->guarded_ns < LOOK_NS)
        return;
    j->guarded_ns = now_ns;
    if (!cse_job_life_keeps_end(j->life) || cse_job_follows(j) ||
        !cse_run_target_path(model_dir, path) || lstat(path, &about) == 0 || errno != ENOENT ||
        stat(model_dir, &about) != 0)
        return;
    if (cse_run_target_keep(model_dir, &j->target) == CSE_OK)
        cse_log_line(CSE_LOG_WARNING, "%s was removed while the run is under way; it is made anew",
                     path);
}

const char *cse_job_handed_on(const cse_job *j)
{
    const char *path = cse_takeover_checkpoint(j->environment->takeover);
    if (path == NULL || access(path, F_OK) == 0 || errno != ENOENT)
        return path;
    cse_log_line(CSE_LOG_WARNING, "%s was removed: the states that are in memory go on", path);
    return NULL;
}

cse_status cse_job_make_place(const cse_job *j, const char *place)
{
    struct stat about;
    if (j->place != NULL || stat(place, &about) == 0 || (errno != ENOENT && errno != ENOTDIR))
        return CSE_OK; /* what else may be wrong shows when it is written */
    CSE_TRY(cse_make_directories("model_dir", place));
    cse_log_line(CSE_LOG_WARNING,
                 "%s was removed or renamed while the run is under way; it is made anew for the "
                 "checkpoint",
                 place);
    return CSE_OK;
}

bool cse_job_place_is_lost(const cse_job *j)
{
    struct stat about;
    const char *place = j->place != NULL ? j->place : cse_job_checkpoint_directory(j);
    return place != NULL &&
           (stat(place, &about) != 0 || !S_ISDIR(about.st_mode) || access(place, W_OK | X_OK) != 0);
}

bool cse_job_waits_after(const cse_job *j, cse_status status)
{
    return status == CSE_IO ||
           ((status == CSE_CANNOT_CREATE || status == CSE_PERMISSION || status == CSE_NO_INPUT) &&
            cse_job_place_is_lost(j));
}
