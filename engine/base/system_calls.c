/* The filter: what is judged by arguments, then the list of system_call_table.h. It is made here
 * and not by libseccomp: a library would be one more to install on every host, has one answer for
 * all calls that are not listed, and knows newer calls by name only in its newer versions. */
#include "engine/base/system_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/base/filter_program.h"
#include "engine/base/landlock.h"
#include "engine/base/system_call_table.h"

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

#ifdef NATIVE

/* Numbers since Linux 5.1 are the same everywhere; older headers lack some. */
enum { CALL_CLONE3 = 435, CALL_OPENAT2 = 437 };
enum { CALL_LIMIT = 0x40000000 }; /* from there on: the x32 calls */
enum { IOPRIO_OF_PROCESS = 1, LANDLOCK_WITH_TRUNCATE = 3, MOST_CALLS = 512 };
#ifndef PR_SCHED_CORE
#define PR_SCHED_CORE 62
#endif

enum who { EVERY, STARTS, SERVES };

typedef struct entry {
    int call;
    enum who who;
} entry;

#define ROW(call, who) { call, who },
#if defined(__x86_64__)
#define ROW_X86(call, who) ROW(call, who)
#else
#define ROW_X86(call, who)
#endif
static const entry entries[] = { CSE_SYSTEM_CALLS(ROW, ROW_X86) };
static const entry of_own_files[] = { CSE_CALLS_OF_OWN_FILES(ROW, ROW_X86) };
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const entry more[] = { CSE_CALLS_OF_SANITIZERS(ROW) };
enum { MORE_COUNT = sizeof more / sizeof more[0] };
#else
static const entry *const more = NULL;
enum { MORE_COUNT = 0 };
#endif

static void take(const entry *list, size_t count, cse_system_call_use use, int *calls, int *taken)
{
    for (size_t i = 0; i < count; i++)
        if (*taken < MOST_CALLS &&
            (list[i].who == EVERY || use.starts || (list[i].who == SERVES && use.connects)))
            calls[(*taken)++] = list[i].call;
}

#define COUNT(list) ((int)(sizeof(list) / sizeof(list)[0]))

/* Threads without name spaces; processes where programs are started. */
static void judge_starting(cse_filter_program *p, bool starts)
{
    const uint32_t spaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                            CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
    /* Its flags are in memory, which no filter can read; C libraries then take clone. */
    cse_filter_refuse(p, CALL_CLONE3, ENOSYS);
    cse_filter_allow_flags(p, SYS_clone, 0, spaces, starts || SANITIZED ? 0 : CLONE_THREAD);
}

/* Sockets of this machine's processes; of a process that connects to other hosts also those of the
 * Internet, and that by which the C library asks for the addresses of this host. */
static void judge_sockets(cse_filter_program *p, bool connects)
{
    static const uint32_t families[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK };
    cse_filter_allow_values(p, SYS_socket, 0,
                            (cse_filter_values){ families, connects ? COUNT(families) : 1, false });
}

/* Limits, priorities and processors: of this process, which is number 0. */
static void judge_scheduling(cse_filter_program *p)
{
    static const int of_process[] = { SYS_prlimit64, SYS_sched_setaffinity, SYS_sched_setparam,
                                      SYS_sched_setattr };
    static const cse_filter_argument own[] = { { 0, 0 } },
                                     own_nice[] = { { 0, PRIO_PROCESS }, { 1, 0 } },
                                     own_disk[] = { { 0, IOPRIO_OF_PROCESS }, { 1, 0 } };
    static const uint32_t of_others[] = { PR_SCHED_CORE };
    for (int i = 0; i < COUNT(of_process); i++)
        cse_filter_allow_where(p, of_process[i], own, 1);
    /* ZeroMQ asks for the usual policy, which its threads have already, by their numbers. */
    cse_filter_allow_or_leave(p, SYS_sched_setscheduler, own[0],
                              (cse_filter_argument){ 1, SCHED_OTHER });
    cse_filter_allow_where(p, SYS_setpriority, own_nice, 2);
    cse_filter_allow_where(p, SYS_ioprio_set, own_disk, 2);
    cse_filter_allow_values(p, SYS_prctl, 0, (cse_filter_values){ of_others, 1, true });
}

/* A process that starts none signals itself alone. To whom others may send signals is Landlock's
 * matter (version 6), and that of a name space of processes. */
static void judge_signals(cse_filter_program *p, bool starts)
{
    static const int calls[] = { SYS_kill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo };
    const cse_filter_argument own[] = { { 0, (uint32_t)getpid() } };
    for (int i = 0; i < COUNT(calls); i++)
        cse_filter_allow_where(p, calls[i], own, starts || SANITIZED ? 0 : 1);
}

/* Opening to read does not truncate, which older Landlocks do not look at. Those of openat2's flags
 * are in memory; without it, paths are resolved step by step (beneath.h). */
static void judge_opening(cse_filter_program *p)
{
    static const uint32_t reads[2] = { O_TRUNC | O_RDONLY, O_TRUNC | O_ACCMODE };
#if defined(__x86_64__)
    cse_filter_refuse_bits(p, SYS_open, 1, O_TRUNC | O_ACCMODE, reads);
#endif
    cse_filter_refuse_bits(p, SYS_openat, 2, O_TRUNC | O_ACCMODE, reads);
    if (cse_landlock_version() < LANDLOCK_WITH_TRUNCATE)
        cse_filter_refuse(p, CALL_OPENAT2, ENOSYS);
}

/* A descriptor's events send no signals. */
static void judge_descriptors(cse_filter_program *p)
{
    static const uint32_t sends[] = { F_SETOWN, F_SETOWN_EX, F_SETSIG },
                          operations[] = { CSE_DEVICE_OPERATIONS };
    cse_filter_allow_values(p, SYS_fcntl, 1, (cse_filter_values){ sends, COUNT(sends), true });
    cse_filter_allow_values(p, SYS_ioctl, 1,
                            (cse_filter_values){ operations, COUNT(operations), false });
}

/* Of attributes beside a file's bytes, as a file system says that has none. */
static void refuse_attributes(cse_filter_program *p)
{
    static const int calls[] = {
        SYS_setxattr,   SYS_lsetxattr,   SYS_fsetxattr,    SYS_getxattr,
        SYS_lgetxattr,  SYS_fgetxattr,   SYS_listxattr,    SYS_llistxattr,
        SYS_flistxattr, SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr
    };
    for (int i = 0; i < COUNT(calls); i++)
        cse_filter_refuse(p, calls[i], EOPNOTSUPP);
}

static void make(cse_filter_program *p, cse_system_call_use use)
{
    int calls[MOST_CALLS], count = 0;
    cse_filter_begin(p, NATIVE);
    cse_filter_refuse_from(p, CALL_LIMIT, EPERM);
    cse_filter_refuse_from(p, CSE_NEWEST_SYSTEM_CALL + 1, ENOSYS);
    judge_starting(p, use.starts);
    judge_sockets(p, use.connects);
    judge_scheduling(p);
    judge_signals(p, use.starts);
    judge_opening(p);
    judge_descriptors(p);
    refuse_attributes(p);
    take(entries, sizeof entries / sizeof entries[0], use, calls, &count);
    take(more, MORE_COUNT, use, calls, &count);
    if (use.marks)
        take(of_own_files, COUNT(of_own_files), use, calls, &count);
    if (cse_landlock_version() >= LANDLOCK_WITH_TRUNCATE)
        calls[count++] = CALL_OPENAT2;
    cse_filter_allow_calls(p, calls, count);
}

bool cse_system_calls_can_filter(void)
{
    const uint32_t action = SECCOMP_RET_ERRNO;
    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

cse_status cse_system_calls_filter(cse_system_call_use use)
{
    cse_filter_program p = { .length = 0 };
    if (!cse_system_calls_can_filter())
        return CSE_OK;
    make(&p, use);
    if (p.is_full)
        return cse_fail(CSE_INTERNAL, "the filter of system calls is too long");
    /* Without SPEC_ALLOW, kernels before 5.16 slow down a process that has a filter. */
    const struct sock_fprog filter = { .len = p.length, .filter = p.lines };
    long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                          SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW, &filter);
    if (result == 0)
        return CSE_OK;
    return cse_fail(CSE_UNAVAILABLE, "the job cannot be confined: seccomp: %s",
                    result > 0 ? "a thread has another filter" : strerror(errno));
}

#else /* another processor */

bool cse_system_calls_can_filter(void)
{
    return false;
}

cse_status cse_system_calls_filter(cse_system_call_use use)
{
    (void)use;
    return CSE_OK;
}

#endif
