/* Runs when a library of confinement_test.py is loaded: tries what a job must not do, and says on
 * stderr what came of each, as "attacks: NAME ERRNO". TOP is the test's folder, QUEUE the server's
 * root in it. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static void tell(const char *name, long result)
{
    fprintf(stderr, "attacks: %s %d\n", name, result < 0 ? errno : 0);
}

static void open_file(const char *name, const char *path, int flags)
{
    tell(name, open(path, flags, 0600));
}

/* What would change this process, tried in another. */
static void try_in_child(const char *name, long call, long argument)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        _exit(syscall(call, argument, 0, 0, 0) < 0 ? errno : 0);
    waitpid(child, &status, 0);
    errno = WEXITSTATUS(status);
    tell(name, errno != 0 ? -1 : 0);
}

static void use_network(void)
{
    const struct sockaddr_in address = { .sin_family = AF_INET,
                                         .sin_port = htons(9),
                                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    /* Refused by the peer: it got as far as that. */
    long result = descriptor;
    if (descriptor >= 0)
        result = connect(descriptor, (const struct sockaddr *)&address, sizeof address);
    if (result < 0 && errno == ECONNREFUSED)
        result = 0;
    tell("connect", result);
}

/* The server lets its owner in without a token, and a job is a process of the owner. */
static void call_server(void)
{
    static const char request[] = "GET /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n";
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    char answer[16] = "";
    int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", QUEUE "/server.sock");
    long result = connect(descriptor, (const struct sockaddr *)&address, sizeof address);
    if (result == 0 && write(descriptor, request, sizeof request - 1) > 0 &&
        read(descriptor, answer, sizeof answer - 1) > 12) {
        errno = EPERM;
        result = strncmp(answer + 9, "401", 3) == 0 ? -1 : 0;
    }
    tell("server", result);
}

__attribute__((constructor)) static void attack(void)
{
    open_file("write_outside", TOP "/loaded", O_WRONLY | O_CREAT);
    open_file("write_other_job", QUEUE "/victim/checkpoint_4.mdl", O_WRONLY);
    open_file("read_outside", TOP "/outside/secret", O_RDONLY);
    open_file("read_server", QUEUE "/own-secret", O_RDONLY);
    open_file("read_shadow", "/etc/shadow", O_RDONLY);
    tell("remove_outside", unlink(TOP "/outside/secret"));
    tell("link_outside", symlink("/", TOP "/outside/link"));
    use_network();
    tell("signal_parent", kill(getppid(), 0));
    try_in_child("ptrace", SYS_ptrace, PTRACE_TRACEME);
    call_server();
    tell("raw_socket", socket(AF_PACKET, SOCK_RAW, 0));
    tell("mount", mount("none", "/tmp", "tmpfs", 0, NULL));
    tell("keyctl", syscall(SYS_keyctl, 0, 0, 0, 0, 0));
    tell("bpf", syscall(SYS_bpf, 0, NULL, 0));
    tell("perf", syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
    tell("userfaultfd", syscall(SYS_userfaultfd, O_CLOEXEC));
    tell("unshare", syscall(SYS_unshare, CLONE_NEWUSER));
    try_in_child("setuid", SYS_setuid, 65534);
    tell("io_uring", syscall(SYS_io_uring_setup, 0, NULL));
}
