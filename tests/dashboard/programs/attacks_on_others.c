/* A program, and a library, that tries to change what is not its own by calls that name a path, a
 * process or an object of the machine; attacks_test.py starts it as a job. It says on stderr what
 * came of each, as "attacks: NAME ERRNO", 0 where it succeeded.
 *
 * TOP is the test's folder, QUEUE the server's root in it, VICTIM a process of the same user, KEY
 * the key of its System V objects. Calls are made directly, so that no library takes another one.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static const char token[] = QUEUE "/token", secret[] = TOP "/outside/secret",
                  readable[] = QUEUE "/shared/good.csv";

static void tell(const char *name, long result)
{
    fprintf(stderr, "attacks: %s %d\n", name, result < 0 ? errno : 0);
}

#define TRY(name, ...) tell(name, syscall(__VA_ARGS__))

/* Of the job's own file. */
static void mark_own(void)
{
    static const char path[] = QUEUE "/attack/marked";
    close(open(path, O_CREAT | O_WRONLY, 0600));
    TRY("own_mode", SYS_fchmodat, AT_FDCWD, path, 0640);
    TRY("own_times", SYS_utimensat, AT_FDCWD, path, NULL, 0);
}

static void change_modes(int shared)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", open(secret, O_PATH));
    TRY("fchmodat_queue", SYS_fchmodat, AT_FDCWD, QUEUE, 0755);
    TRY("fchmodat_token", SYS_fchmodat, AT_FDCWD, token, 0644);
    TRY("fchmodat_descriptor", SYS_fchmodat, AT_FDCWD, path, 0644);
    TRY("fchmodat2", 452, AT_FDCWD, token, 0644, 0);
    TRY("fchmod", SYS_fchmod, shared, 0666);
    TRY("fchownat", SYS_fchownat, AT_FDCWD, token, getuid(), getgid(), 0);
    TRY("fchown", SYS_fchown, shared, getuid(), getgid());
#if defined(__x86_64__)
    TRY("chmod_queue", SYS_chmod, QUEUE, 0755);
    TRY("chmod_token", SYS_chmod, token, 0644);
    TRY("chown", SYS_chown, secret, getuid(), getgid());
    TRY("lchown", SYS_lchown, secret, getuid(), getgid());
#endif
}

static void change_times(int shared)
{
    const struct timespec times[2] = { { 1, 0 }, { 1, 0 } };
    TRY("utimensat", SYS_utimensat, AT_FDCWD, secret, times, 0);
    TRY("futimens", SYS_utimensat, shared, NULL, times, 0);
#if defined(__x86_64__)
    const struct timeval old[2] = { { 1, 0 }, { 1, 0 } };
    TRY("utimes", SYS_utimes, secret, old);
    TRY("futimesat", SYS_futimesat, AT_FDCWD, secret, old);
    TRY("utime", SYS_utime, secret, NULL);
#endif
}

static void change_attributes(int shared)
{
    const struct {
        uint64_t value;
        uint32_t size, flags;
    } at = { (uint64_t)(uintptr_t) "x", 1, 0 };
    TRY("setxattr", SYS_setxattr, secret, "user.attack", "x", 1, 0);
    TRY("lsetxattr", SYS_lsetxattr, secret, "user.attack", "x", 1, 0);
    TRY("fsetxattr", SYS_fsetxattr, shared, "user.attack", "x", 1, 0);
    TRY("setxattrat", 463, AT_FDCWD, secret, 0, "user.attack", &at, sizeof at);
    TRY("removexattr", SYS_removexattr, secret, "user.kept");
    TRY("fremovexattr", SYS_fremovexattr, shared, "user.kept");
}

static void change_contents(void)
{
    TRY("truncate", SYS_truncate, readable, 0);
    TRY("open_to_truncate", SYS_openat, AT_FDCWD, readable, O_RDONLY | O_TRUNC);
    TRY("renameat", SYS_renameat2, AT_FDCWD, secret, AT_FDCWD, TOP "/outside/gone", 0);
    TRY("linkat", SYS_linkat, AT_FDCWD, secret, AT_FDCWD, "linked", 0);
    TRY("symlinkat", SYS_symlinkat, "/", AT_FDCWD, TOP "/outside/link");
    TRY("mknodat", SYS_mknodat, AT_FDCWD, TOP "/outside/pipe", S_IFIFO | 0600, 0);
}

static void change_scheduling(void)
{
    const struct rlimit none = { 0, 0 };
    const struct sched_param plain = { 0 };
    const unsigned long first = 1;
    struct {
        uint32_t size, policy;
        uint64_t flags, rest[5];
    } idle = { 48, SCHED_IDLE, 0, { 0 } };
    TRY("prlimit", SYS_prlimit64, VICTIM, RLIMIT_CPU, &none, NULL);
    TRY("setpriority", SYS_setpriority, PRIO_PROCESS, VICTIM, 19);
    TRY("setpriority_of_user", SYS_setpriority, PRIO_USER, getuid(), 1);
    TRY("sched_setaffinity", SYS_sched_setaffinity, VICTIM, sizeof first, &first);
    TRY("sched_setscheduler", SYS_sched_setscheduler, VICTIM, SCHED_IDLE, &plain);
    TRY("sched_setparam", SYS_sched_setparam, VICTIM, &plain);
    TRY("sched_setattr", SYS_sched_setattr, VICTIM, &idle, 0);
    TRY("ioprio_set", SYS_ioprio_set, 1, VICTIM, 3 << 13);
    TRY("migrate_pages", SYS_migrate_pages, VICTIM, sizeof first * 8, &first, &first);
    tell("share_core", prctl(62 /* PR_SCHED_CORE */, 2, VICTIM, 0, 0));
}

static void send_signals(void)
{
    siginfo_t facts = { .si_code = SI_QUEUE };
    int ends[2] = { -1, -1 }, own = VICTIM;
    pipe(ends);
    TRY("kill", SYS_kill, VICTIM, 0);
    TRY("tgkill", SYS_tgkill, VICTIM, VICTIM, 0);
    TRY("sigqueue", SYS_rt_sigqueueinfo, VICTIM, SIGCONT, &facts);
    const int process = (int)syscall(434 /* pidfd_open */, VICTIM, 0);
    TRY("pidfd_send_signal", 424, process, 0, NULL, 0);
    TRY("pidfd_getfd", 438, process, 0, 0);
    TRY("process_madvise", 440, process, NULL, 0, 0, 0);
    TRY("f_setown", SYS_fcntl, ends[0], F_SETOWN, VICTIM);
    TRY("f_setsig", SYS_fcntl, ends[0], F_SETSIG, SIGKILL);
    int pair[2];
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    TRY("siocspgrp", SYS_ioctl, pair[0], 0x8902, &own);
}

/* As the kernel shows it, of the bytes that the process began with. */
static int find_in_environment(const char *name)
{
    static char bytes[1 << 16];
    const int file = open("/proc/self/environ", O_RDONLY);
    const ssize_t size = read(file, bytes, sizeof bytes);
    errno = ENOENT;
    return size > 0 && memmem(bytes, (size_t)size, name, strlen(name)) != NULL ? 0 : -1;
}

static void read_others(void)
{
    char path[64], bytes[16];
    struct iovec own = { bytes, sizeof bytes }, other = { bytes, sizeof bytes };
    snprintf(path, sizeof path, "/proc/%d/environ", VICTIM);
    const int environment = open(path, O_RDONLY);
    tell("environment_of_process", environment < 0 ? -1 : read(environment, bytes, 1) - 1);
    errno = ENOENT;
    tell("environment_of_server", getenv("AWS_SECRET_ACCESS_KEY") != NULL ? 0 : -1);
    tell("given_variable", getenv("CSE_TEST_GIVEN") != NULL ? 0 : -1);
    tell("environment_of_this_process", find_in_environment("AWS_SECRET_ACCESS_KEY"));
    TRY("process_vm_readv", SYS_process_vm_readv, VICTIM, &own, 1, &other, 1, 0);
    TRY("getxattr", SYS_getxattr, secret, "user.kept", bytes, sizeof bytes);
    TRY("inotify", SYS_inotify_init1, 0);
    TRY("kcmp", SYS_kcmp, VICTIM, VICTIM, 0, 0, 1);
}

static void use_objects(void)
{
    TRY("shmget", SYS_shmget, KEY, 1, 0600);
    TRY("semget", SYS_semget, KEY, 1, 0600);
    TRY("msgget", SYS_msgget, KEY, 0600);
    TRY("mq_open", SYS_mq_open, "cse-attack", O_RDWR | O_CREAT, 0600, NULL);
    TRY("add_key", SYS_add_key, "user", "cse", "x", 1, -4 /* of the user */);
}

static void connect_to(const char *name, const char *path, size_t hidden)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(address.sun_path + hidden, sizeof address.sun_path - hidden, "%s", path);
    tell(name, connect(descriptor, (const struct sockaddr *)&address,
                       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + hidden + strlen(path) +
                                   (hidden == 0))));
    close(descriptor);
}

/* What a process may do with itself. */
static void keep_what_is_its_own(void)
{
    struct rlimit limit;
    cpu_set_t set;
    getrlimit(RLIMIT_CORE, &limit);
    tell("own_limit", setrlimit(RLIMIT_CORE, &limit));
    tell("own_priority", setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0)));
    sched_getaffinity(0, sizeof set, &set);
    tell("own_processors", sched_setaffinity(0, sizeof set, &set));
    tell("own_signal", kill(getpid(), 0));
}

__attribute__((constructor)) static void attack(void)
{
    const int shared = open(readable, O_RDONLY);
    mark_own();
    change_modes(shared);
    change_times(shared);
    change_attributes(shared);
    change_contents();
    change_scheduling();
    send_signals();
    read_others();
    use_objects();
    connect_to("connect_by_path", TOP "/outside/agent", 0);
    connect_to("connect_by_abstract_name", "cse-attack-" KEY_TEXT, 1);
    keep_what_is_its_own();
}

#ifdef IS_PROGRAM
int main(void)
{
    return 0;
}
#endif
