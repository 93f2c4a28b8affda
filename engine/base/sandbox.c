/* Which paths a process needs besides those of its job: the system's programs and libraries, the
 * compiler, this program itself. */
#include "engine/base/sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/base/landlock.h"
#include "engine/base/system_calls.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

/* Programs and libraries. */
static const char *const system_folders[] = { "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64" };

/* What the C library and the compiler read of the machine. Of /etc only what is named here, which
 * every user may read. */
static const char *const system_files[] = { "/proc",
                                            "/sys",
                                            "/dev/null",
                                            "/dev/zero",
                                            "/dev/full",
                                            "/dev/random",
                                            "/dev/urandom",
                                            "/etc/ld.so.cache",
                                            "/etc/ld.so.preload",
                                            "/etc/localtime",
                                            "/etc/locale.alias",
                                            "/etc/nsswitch.conf",
                                            "/etc/passwd",
                                            "/etc/group",
                                            "/etc/hostname" };

/* How the name of another host becomes its address. */
static const char *const name_files[] = { "/etc/hosts", "/etc/host.conf", "/etc/gai.conf",
                                          "/etc/resolv.conf", "/run/systemd/resolve" };

static int allow_library(struct dl_phdr_info *info, size_t size, void *landlock)
{
    (void)size;
    if (info->dlpi_name != NULL && info->dlpi_name[0] == '/')
        cse_landlock_allow(landlock, info->dlpi_name, CSE_LANDLOCK_EXECUTE);
    return 0;
}

/* The compiler that CSE_CC names, and, if it lies in a folder bin, what was installed with it. */
static void allow_compiler(cse_landlock *landlock)
{
    char path[PATH_MAX];
    const char *named = getenv("CSE_CC");
    if (named == NULL || strchr(named, '/') == NULL || realpath(named, path) == NULL)
        return;
    cse_landlock_allow(landlock, path, CSE_LANDLOCK_EXECUTE);
    char *name = strrchr(path, '/');
    *name = '\0';
    char *folder = strrchr(path, '/');
    if (folder == NULL || folder == path || strcmp(folder, "/bin") != 0)
        return;
    *folder = '\0';
    cse_landlock_allow(landlock, path, CSE_LANDLOCK_EXECUTE);
}

static void allow_system(cse_landlock *landlock, cse_sandbox_profile profile)
{
    const char *worker = getenv("CSENGINE_EXECUTABLE");
    for (size_t i = 0; i < sizeof system_folders / sizeof system_folders[0]; i++)
        cse_landlock_allow(landlock, system_folders[i],
                           profile == CSE_SANDBOX_COORDINATOR ? CSE_LANDLOCK_EXECUTE
                                                              : CSE_LANDLOCK_READ);
    for (size_t i = 0; i < sizeof system_files / sizeof system_files[0]; i++)
        cse_landlock_allow(landlock, system_files[i], CSE_LANDLOCK_READ);
    for (size_t i = 0; profile == CSE_SANDBOX_MOVER && i < sizeof name_files / sizeof name_files[0];
         i++)
        cse_landlock_allow(landlock, name_files[i], CSE_LANDLOCK_READ);
    cse_landlock_allow(landlock, "/dev/null", CSE_LANDLOCK_WRITE);
    if (SANITIZED)
        cse_landlock_allow(landlock, "/", CSE_LANDLOCK_EXECUTE);
    cse_landlock_allow(landlock, "/proc/self/exe", CSE_LANDLOCK_EXECUTE);
    dl_iterate_phdr(allow_library, landlock);
    if (profile != CSE_SANDBOX_COORDINATOR)
        return;
    if (worker != NULL)
        cse_landlock_allow(landlock, worker, CSE_LANDLOCK_EXECUTE);
    allow_compiler(landlock);
}

/* The folders in a queue's, but not the files that the server keeps beside them. */
static void allow_queue(cse_landlock *landlock, const char *queue)
{
    char path[PATH_MAX];
    cse_landlock_allow(landlock, queue, CSE_LANDLOCK_LIST);
    DIR *entries = opendir(queue);
    if (entries == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        if (entry->d_name[0] == '.' || (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN))
            continue;
        if ((size_t)snprintf(path, sizeof path, "%s/%s/.", queue, entry->d_name) < sizeof path)
            cse_landlock_allow(landlock, path, CSE_LANDLOCK_READ);
    }
    closedir(entries);
}

static void allow_inputs(cse_landlock *landlock, const cse_confinement *confinement)
{
    for (int i = 0; i < cse_confinement_count(confinement, CSE_PATH_INPUT); i++) {
        const char *folder = cse_confinement_folder(confinement, CSE_PATH_INPUT, i);
        if (cse_confinement_is_queue(confinement, i))
            allow_queue(landlock, folder);
        else
            cse_landlock_allow(landlock, folder, CSE_LANDLOCK_READ);
    }
}

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
    const bool coordinates = profile == CSE_SANDBOX_COORDINATOR;
    const bool reads = coordinates || profile == CSE_SANDBOX_INPUT;
    cse_landlock *landlock = cse_landlock_new(profile == CSE_SANDBOX_MOVER);
    if (landlock == NULL)
        return CSE_OK;
    allow_system(landlock, profile);
    if (reads)
        allow_inputs(landlock, confinement);
    for (int i = 0; i < cse_confinement_count(confinement, CSE_PATH_OUTPUT); i++)
        cse_landlock_allow(landlock, cse_confinement_folder(confinement, CSE_PATH_OUTPUT, i),
                           coordinates ? CSE_LANDLOCK_WRITE : CSE_LANDLOCK_READ);
    for (int i = 0; reads && i < cse_confinement_count(confinement, CSE_PATH_LIBRARY); i++)
        cse_landlock_allow(landlock, cse_confinement_folder(confinement, CSE_PATH_LIBRARY, i),
                           CSE_LANDLOCK_READ);
    for (int i = 0; coordinates && i < cse_confinement_count(confinement, CSE_PATH_PROGRAM); i++)
        cse_landlock_allow(landlock, cse_confinement_folder(confinement, CSE_PATH_PROGRAM, i),
                           CSE_LANDLOCK_EXECUTE);
    if (private_folder != NULL)
        cse_landlock_allow(landlock, private_folder, CSE_LANDLOCK_WRITE);
    return cse_landlock_enforce(&landlock);
}

cse_sandbox_figures cse_sandbox_available(void)
{
    return (cse_sandbox_figures){ .landlock = cse_landlock_version(),
                                  .system_calls = cse_system_calls_can_filter() };
}

void cse_sandbox_describe(cse_text *text)
{
    const cse_sandbox_figures there = cse_sandbox_available();
    cse_text_add(text, "no new privileges");
    if (there.landlock > 0)
        cse_text_add(text, ", files by Landlock (version %d)", there.landlock);
    if (there.system_calls)
        cse_text_add(text, ", a filter of system calls");
}

/* Of root and of a name space's first process: what they may do that other users may not, but for
 * reading and writing files whatever their modes say. */
static cse_status drop_capabilities(void)
{
    const uint32_t kept = 1U << CAP_DAC_OVERRIDE | 1U << CAP_DAC_READ_SEARCH;
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    if (syscall(SYS_capget, &header, data) != 0)
        return CSE_OK;
    for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
        data[i] = (struct __user_cap_data_struct){
            .effective = i == 0 ? data[i].effective & kept : 0,
            .permitted = i == 0 ? data[i].permitted & kept : 0,
        };
    if (syscall(SYS_capset, &header, data) == 0 || errno == EPERM)
        return CSE_OK; /* EPERM: from a filter, of one that has dropped them already */
    return cse_fail(CSE_UNAVAILABLE, "the job cannot be confined: capset: %s", strerror(errno));
}

cse_status cse_sandbox_enter(cse_sandbox_profile profile, const cse_confinement *confinement,
                             const char *private_folder)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return cse_fail(CSE_UNAVAILABLE, "the job cannot be confined: PR_SET_NO_NEW_PRIVS: %s",
                        strerror(errno));
    CSE_TRY(drop_capabilities());
    CSE_TRY(profile == CSE_SANDBOX_PARSER ? forbid_files()
                                          : restrict_files(profile, confinement, private_folder));
    return cse_system_calls_filter((cse_system_call_use){
        .starts = profile == CSE_SANDBOX_COORDINATOR, .connects = profile == CSE_SANDBOX_MOVER });
}
