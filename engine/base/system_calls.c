/* The filter is a program for the kernel's classic BPF, made from lists of numbers: one comparison
 * for each number, then the conditions on arguments.
 *
 * A build with sanitizers leaves out what they need: LeakSanitizer stops its own process by ptrace
 * from a clone, and both may start a symbolizer. */
#include "engine/base/system_calls.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

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

enum { CALL_LIMIT = 0x40000000, MOST_INSTRUCTIONS = 256 }; /* from there on: the x32 calls */

/* Numbers since Linux 5.1 are the same everywhere; older headers lack some. */
enum {
    CALL_IO_URING_SETUP = 425,
    CALL_IO_URING_REGISTER = 427,
    CALL_OPEN_TREE = 428,
    CALL_FSPICK = 433,
    CALL_CLONE3 = 435,
    CALL_PIDFD_GETFD = 438,
    CALL_PROCESS_MADVISE = 440,
    CALL_MOUNT_SETATTR = 442
};

#ifdef NATIVE

/* Of other processes' memory and descriptors. */
static const int of_others[] = { SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev,
                                 SYS_kcmp,   CALL_PIDFD_GETFD,     CALL_PROCESS_MADVISE };

static const int of_the_machine[] = {
    /* file systems, name spaces */
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_unshare,
    SYS_setns,
    SYS_mknodat,
    SYS_open_by_handle_at,
    SYS_fanotify_init,
    SYS_quotactl,
    SYS_acct,
    SYS_swapon,
    SYS_swapoff,
    CALL_MOUNT_SETATTR,
    /* code in the kernel, and doors to it that have often been broken */
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_kexec_file_load,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_lookup_dcookie,
    SYS_nfsservctl,
    SYS_vhangup,
    SYS_reboot,
    SYS_syslog,
    /* time and names of the machine */
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_adjtimex,
    SYS_sethostname,
    SYS_setdomainname,
    /* other users */
    SYS_setuid,
    SYS_setgid,
    SYS_setreuid,
    SYS_setregid,
    SYS_setresuid,
    SYS_setresgid,
    SYS_setfsuid,
    SYS_setfsgid,
    SYS_setgroups,
    SYS_capset,
#if defined(__x86_64__)
    SYS_mknod,
    SYS_iopl,
    SYS_ioperm,
    SYS_modify_ldt,
    SYS_uselib,
    SYS_ustat,
    SYS_sysfs,
#endif
};

static const int of_starting[] = { SYS_execve, SYS_execveat,
#if defined(__x86_64__)
                                   SYS_fork, SYS_vfork
#endif
};

/* Of a worker that nobody reaches. */
static const int of_listening[] = { SYS_bind, SYS_listen };

typedef struct program {
    struct sock_filter lines[MOST_INSTRUCTIONS];
    unsigned short length;
} program;

static void add(program *p, uint16_t code, uint32_t value, uint8_t if_true, uint8_t if_false)
{
    if (p->length < MOST_INSTRUCTIONS)
        p->lines[p->length++] = (struct sock_filter){ code, if_true, if_false, value };
}

static void load(program *p, size_t offset)
{
    add(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void answer(program *p, int error)
{
    add(p, BPF_RET | BPF_K, error == 0 ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | (uint32_t)error, 0,
        0);
}

/* Each refuses what the loaded number equals. */
static void refuse(program *p, int number, int error)
{
    add(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1);
    answer(p, error);
}

static void refuse_all(program *p, const int *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        refuse(p, numbers[i], EPERM);
}

static void refuse_from_to(program *p, int first, int last)
{
    add(p, BPF_JMP | BPF_JGE | BPF_K, (uint32_t)first, 0, 2);
    add(p, BPF_JMP | BPF_JGT | BPF_K, (uint32_t)last, 1, 0);
    answer(p, EPERM);
}

/* Low half of an argument; both processors are little-endian. */
static size_t argument(int number)
{
    return offsetof(struct seccomp_data, args) + 8 * (size_t)number;
}

/* clone with a flag of `refused`, or without one of `needed`. Ends the program where it is clone.
 */
static void judge_clone(program *p, uint32_t refused, uint32_t needed)
{
    add(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, needed != 0 ? 6 : 4);
    load(p, argument(0));
    add(p, BPF_JMP | BPF_JSET | BPF_K, refused, 0, 1);
    answer(p, EPERM);
    if (needed != 0) {
        add(p, BPF_JMP | BPF_JSET | BPF_K, needed, 1, 0);
        answer(p, EPERM);
    }
    answer(p, 0);
}

/* Sockets of this machine's processes; of a process that connects to other hosts also those of the
 * Internet, and that by which the C library asks for the addresses of this host. Ends the program
 * where it is socket. */
static void judge_socket(program *p, bool connects)
{
    static const uint32_t families[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK };
    const uint8_t count = connects ? sizeof families / sizeof families[0] : 1;
    add(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, (uint8_t)(count + 3));
    load(p, argument(0));
    for (uint8_t i = 0; i < count; i++)
        add(p, BPF_JMP | BPF_JEQ | BPF_K, families[i], (uint8_t)(count - i), 0);
    answer(p, EPERM);
    answer(p, 0);
}

static void make(program *p, cse_system_call_use use)
{
    const uint32_t spaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                            CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
    load(p, offsetof(struct seccomp_data, arch));
    add(p, BPF_JMP | BPF_JEQ | BPF_K, NATIVE, 1, 0);
    add(p, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
    load(p, offsetof(struct seccomp_data, nr));
    add(p, BPF_JMP | BPF_JGE | BPF_K, CALL_LIMIT, 0, 1);
    answer(p, EPERM);
    /* Its flags are in memory, which no filter can read; C libraries then take clone. */
    refuse(p, CALL_CLONE3, ENOSYS);
    if (!SANITIZED)
        refuse_all(p, of_others, sizeof of_others / sizeof of_others[0]);
    refuse_all(p, of_the_machine, sizeof of_the_machine / sizeof of_the_machine[0]);
    refuse_from_to(p, CALL_IO_URING_SETUP, CALL_IO_URING_REGISTER);
    refuse_from_to(p, CALL_OPEN_TREE, CALL_FSPICK); /* mounting by descriptors */
    if (!use.starts && !SANITIZED)
        refuse_all(p, of_starting, sizeof of_starting / sizeof of_starting[0]);
    if (!use.starts && !use.connects && !SANITIZED)
        refuse_all(p, of_listening, sizeof of_listening / sizeof of_listening[0]);
    judge_clone(p, spaces, use.starts || SANITIZED ? 0 : CLONE_THREAD);
    judge_socket(p, use.connects);
    answer(p, 0);
}

bool cse_system_calls_can_filter(void)
{
    const uint32_t action = SECCOMP_RET_ERRNO;
    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

cse_status cse_system_calls_filter(cse_system_call_use use)
{
    program p = { .length = 0 };
    if (!cse_system_calls_can_filter())
        return CSE_OK;
    make(&p, use);
    /* Without SPEC_ALLOW, kernels before 5.16 slow down a process that has a filter. */
    const struct sock_fprog filter = { .len = p.length, .filter = p.lines };
    long result = p.length < MOST_INSTRUCTIONS
                      ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                                SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW, &filter)
                      : -1;
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
