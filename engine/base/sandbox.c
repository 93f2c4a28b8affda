/* The parts in their order: privileges, files, system calls. */
#include "engine/base/sandbox.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>

#include "engine/base/capabilities.h"
#include "engine/base/job_paths.h"
#include "engine/base/landlock.h"
#include "engine/base/name_spaces.h"
#include "engine/base/system_calls.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

static cse_status forbid_files(void)
{
    cse_landlock *landlock = cse_landlock_new(false);
    if (landlock == NULL)
        return CSE_OK;
    if (SANITIZED)
        cse_landlock_allow(landlock, "/", CSE_LANDLOCK_EXECUTE);
    return cse_landlock_enforce(&landlock);
}

static cse_status restrict_files(cse_sandbox_profile profile, const cse_confinement *confinement,
                                 const char *private_folder)
{
    cse_landlock *landlock = cse_landlock_new(profile == CSE_SANDBOX_MOVER);
    cse_job_paths paths;
    if (landlock == NULL)
        return CSE_OK;
    cse_job_paths_collect(profile, confinement, private_folder, &paths);
    for (int i = 0; i < paths.count; i++)
        cse_landlock_allow(landlock, paths.items[i].path, paths.items[i].access);
    cse_job_paths_clear(&paths);
    return cse_landlock_enforce(&landlock);
}

cse_sandbox_figures cse_sandbox_available(void)
{
    return (cse_sandbox_figures){ .landlock = cse_landlock_version(),
                                  .system_calls = cse_system_calls_can_filter(),
                                  .name_spaces = cse_name_spaces_are_there() };
}

void cse_sandbox_describe(cse_text *text)
{
    const cse_sandbox_figures there = cse_sandbox_available();
    cse_text_add(text, "no new privileges");
    if (there.landlock > 0)
        cse_text_add(text, ", files by Landlock (version %d)", there.landlock);
    if (there.system_calls)
        cse_text_add(text, ", a list of system calls");
    if (there.name_spaces)
        cse_text_add(text, ", name spaces of processes, IPC, network and mounts");
}

cse_status cse_sandbox_enter(cse_sandbox_profile profile, const cse_confinement *confinement,
                             const char *private_folder)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return cse_fail(CSE_UNAVAILABLE, "the job cannot be confined: PR_SET_NO_NEW_PRIVS: %s",
                        strerror(errno));
    CSE_TRY(cse_capabilities_drop());
    CSE_TRY(profile == CSE_SANDBOX_PARSER ? forbid_files()
                                          : restrict_files(profile, confinement, private_folder));
    return cse_system_calls_filter((cse_system_call_use){
        .starts = profile == CSE_SANDBOX_COORDINATOR,
        .connects = profile == CSE_SANDBOX_MOVER,
        .marks = profile == CSE_SANDBOX_COORDINATOR && cse_name_spaces_are_settled() });
}
