/* One user of the outside has the same number inside, and no other has any. */
#include "engine/base/name_spaces.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/capabilities.h"
#include "engine/base/job_paths.h"
#include "engine/base/mount_view.h"
#include "engine/base/process_number.h"

static bool write_file(const char *path, const char *text)
{
    const int file = open(path, O_WRONLY | O_CLOEXEC);
    const bool good = file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text);
    if (file >= 0)
        close(file);
    return good;
}

/* Calls that may be made between fork and the end of a process of many threads. */
static bool unshare_all(void)
{
    char users[64], groups[64];
    snprintf(users, sizeof users, "%u %u 1", (unsigned)geteuid(), (unsigned)geteuid());
    snprintf(groups, sizeof groups, "%u %u 1", (unsigned)getegid(), (unsigned)getegid());
    return unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNET) == 0 &&
           write_file("/proc/self/setgroups", "deny") && write_file("/proc/self/uid_map", users) &&
           write_file("/proc/self/gid_map", groups);
}

/* Some machines give name spaces, but no rights in them. */
static bool try_all(void)
{
    return unshare_all() && unshare(CLONE_NEWNS) == 0 &&
           mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL) == 0 &&
           mount("none", "/tmp", "tmpfs", 0, NULL) == 0;
}

static bool there;

static void find_out(void)
{
    int status = 1;
    const pid_t child = fork();
    if (child == 0)
        _exit(try_all() ? 0 : 1);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    there = child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* LeakSanitizer looks at a process from a child, which would have no number that it knows. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

bool cse_name_spaces_are_there(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (!SANITIZED)
        pthread_once(&once, find_out);
    return there;
}

cse_status cse_name_spaces_enter(void)
{
    cse_process_number_keep();
    if (unshare_all())
        return CSE_OK;
    return cse_fail(CSE_UNAVAILABLE, "the job cannot be confined: name spaces: %s",
                    strerror(errno));
}

static bool settled;

bool cse_name_spaces_are_settled(void)
{
    return settled;
}

cse_status cse_name_spaces_settle(const cse_confinement *confinement, const char *private_folder)
{
    cse_job_paths paths;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return cse_fail(CSE_UNAVAILABLE, "the job cannot be confined: PR_SET_NO_NEW_PRIVS: %s",
                        strerror(errno));
    if (unshare(CLONE_NEWNS) != 0)
        return cse_fail(CSE_UNAVAILABLE, "the job cannot be confined: a name space of mounts: %s",
                        strerror(errno));
    cse_job_paths_collect(CSE_SANDBOX_COORDINATOR, confinement, private_folder, &paths);
    cse_status status = cse_mount_view_make(&paths);
    cse_job_paths_clear(&paths);
    if (status == CSE_OK)
        status = cse_confinement_reopen();
    settled = status == CSE_OK;
    if (status == CSE_OK)
        status = cse_capabilities_drop();
    /* The rights of a new name space take it; the process may be looked at as before. */
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    return status;
}
