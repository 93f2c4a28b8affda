/* sandbox: what each profile permits and refuses, tried in processes of their own. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/directory.h"
#include "engine/base/landlock.h"
#include "engine/base/sandbox.h"
#include "engine/base/system_calls.h"
#include "tests/support/sanitized.h"

static char top[] = "/tmp/cse-sandbox-XXXXXX";

/* Runs `body` in a child; it returns NULL, or what went wrong. */
static void in_child(const char *(*body)(void))
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        const char *wrong = body();
        if (wrong != NULL)
            fprintf(stderr, "%s (%s)\n", wrong, strerror(errno));
        fflush(NULL);
        _exit(wrong != NULL);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", (unsigned)status);
}

#define MUST(condition)        \
    do {                       \
        if (!(condition))      \
            return #condition; \
    } while (0)
#define REFUSED(call, error) MUST((call) < 0 && errno == (error))

static bool filters(void)
{
    return cse_system_calls_can_filter();
}

static void *nothing(void *argument)
{
    return argument;
}

static bool can_make_thread(void)
{
    pthread_t thread;
    return pthread_create(&thread, NULL, nothing, NULL) == 0 && pthread_join(thread, NULL) == 0;
}

/* -1 where it cannot even be started; else its exit code. */
static int run_program(void)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(126);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 127;
}

static const char *refuses_what_no_job_needs(void)
{
    REFUSED(socket(AF_INET, SOCK_STREAM, 0), EPERM);
    REFUSED(socket(AF_PACKET, SOCK_RAW, 0), EPERM);
    REFUSED(socket(AF_NETLINK, SOCK_RAW, 0), EPERM);
    REFUSED(syscall(SYS_mount, "none", "/tmp", "tmpfs", 0, NULL), EPERM);
    REFUSED(syscall(SYS_unshare, CLONE_NEWUSER), EPERM);
    REFUSED(syscall(SYS_setns, 0, 0), EPERM);
    REFUSED(syscall(SYS_keyctl, 0, 0, 0, 0, 0), EPERM);
    REFUSED(syscall(SYS_bpf, 0, NULL, 0), EPERM);
    REFUSED(syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0), EPERM);
    REFUSED(syscall(SYS_userfaultfd, 0), EPERM);
    REFUSED(syscall(SYS_kexec_load, 0, 0, NULL, 0), EPERM);
    REFUSED(syscall(SYS_finit_module, -1, "", 0), EPERM);
    REFUSED(syscall(SYS_setuid, getuid()), EPERM);
    REFUSED(syscall(SYS_setgroups, 0, NULL), EPERM);
    REFUSED(syscall(425, 0, NULL), EPERM);   /* io_uring_setup */
    REFUSED(syscall(430, "ext4", 0), EPERM); /* fsopen */
    REFUSED(syscall(435, NULL, 0), ENOSYS);  /* clone3 */
    REFUSED(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0), EPERM);
    if (!SANITIZED) {
        REFUSED(syscall(SYS_ptrace, 0, 0, 0, 0), EPERM);
        REFUSED(syscall(SYS_process_vm_readv, getpid(), NULL, 0, NULL, 0, 0), EPERM);
    }
    return NULL;
}

static const char *leaves_what_a_worker_needs(void)
{
    int ends[2];
    MUST(pipe(ends) == 0);
    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    MUST(socket(AF_UNIX, SOCK_STREAM, 0) >= 0);
    MUST(eventfd(0, EFD_CLOEXEC) >= 0);
    MUST(memfd_create("x", MFD_CLOEXEC) >= 0);
    MUST(open("/usr", O_RDONLY | O_DIRECTORY) >= 0);
    MUST(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
    MUST(can_make_thread());
    MUST(kill(getpid(), 0) == 0);
    return NULL;
}

static const char *coordinator(void)
{
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    MUST(cse_system_calls_filter((cse_system_call_use){ .starts = true }) == CSE_OK);
    const char *wrong = filters() ? refuses_what_no_job_needs() : NULL;
    if (wrong == NULL)
        wrong = leaves_what_a_worker_needs();
    if (wrong != NULL)
        return wrong;
    MUST(run_program() == 0);
    /* What it starts is held to the same, and may restrict itself further. */
    MUST(cse_system_calls_filter((cse_system_call_use){ 0 }) == CSE_OK);
    if (filters() && !SANITIZED)
        MUST(run_program() == -1 && errno == EPERM);
    return leaves_what_a_worker_needs();
}

static const char *worker(void)
{
    const struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "/tmp/none/x" };
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    MUST(cse_system_calls_filter((cse_system_call_use){ 0 }) == CSE_OK);
    const char *wrong = filters() ? refuses_what_no_job_needs() : NULL;
    if (wrong == NULL && filters() && !SANITIZED) {
        REFUSED(fork(), EPERM);
        REFUSED(execl("/bin/true", "true", (char *)NULL), EPERM);
        int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
        REFUSED(bind(descriptor, (const struct sockaddr *)&address, sizeof address), EPERM);
        REFUSED(listen(descriptor, 1), EPERM);
    }
    return wrong != NULL ? wrong : leaves_what_a_worker_needs();
}

/* Listens, and connects to itself. */
static const char *speaks_with_hosts(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof address;
    const int listening = socket(AF_INET, SOCK_STREAM, 0), other = socket(AF_INET, SOCK_STREAM, 0);
    MUST(bind(listening, (const struct sockaddr *)&address, sizeof address) == 0);
    MUST(listen(listening, 1) == 0);
    MUST(getsockname(listening, (struct sockaddr *)&address, &length) == 0);
    MUST(connect(other, (const struct sockaddr *)&address, sizeof address) == 0);
    return NULL;
}

static const char *mover(void)
{
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    MUST(cse_system_calls_filter((cse_system_call_use){ .connects = true }) == CSE_OK);
    const char *wrong = speaks_with_hosts();
    if (wrong != NULL)
        return wrong;
    MUST(socket(AF_INET6, SOCK_STREAM, 0) >= 0 || errno == EAFNOSUPPORT);
    MUST(socket(AF_NETLINK, SOCK_RAW, 0) >= 0);
    if (filters()) {
        REFUSED(socket(AF_PACKET, SOCK_RAW, 0), EPERM);
        REFUSED(socket(AF_VSOCK, SOCK_STREAM, 0), EPERM);
        REFUSED(syscall(SYS_unshare, CLONE_NEWUSER), EPERM);
    }
    if (filters() && !SANITIZED) {
        REFUSED(fork(), EPERM);
        REFUSED(execl("/bin/true", "true", (char *)NULL), EPERM);
    }
    return leaves_what_a_worker_needs();
}

static int open_in(const char *folder, const char *name, int flags)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s/%s", top, folder, name);
    int descriptor = open(path, flags | O_CLOEXEC, 0600);
    if (descriptor >= 0)
        close(descriptor);
    return descriptor >= 0 ? 0 : -1;
}

static cse_confinement *confinement_of_top(void)
{
    static const char *const names[] = { "queue", "job", "data", "outside" };
    static const cse_path_use uses[] = { CSE_PATH_INPUT, CSE_PATH_OUTPUT, CSE_PATH_INPUT };
    char path[PATH_MAX];
    cse_confinement *made = cse_confinement_new();
    ck_assert_ptr_nonnull(mkdtemp(top));
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", top, names[i]);
        ck_assert_int_eq(cse_make_directories("test", path), CSE_OK);
        ck_assert_int_eq(open_in(names[i], "file", O_WRONLY | O_CREAT), 0);
        if (i == 0)
            ck_assert_int_eq(cse_confinement_allow_queue(made, path), CSE_OK);
        else if (i < 3)
            ck_assert_int_eq(cse_confinement_allow(made, uses[i], path), CSE_OK);
    }
    snprintf(path, sizeof path, "%s/queue/other", top);
    ck_assert_int_eq(cse_make_directories("test", path), CSE_OK);
    ck_assert_int_eq(open_in("queue/other", "file", O_WRONLY | O_CREAT), 0);
    return made;
}

static const cse_confinement *confinement;

static const char *files_of_everybody(void)
{
    MUST(open("/etc/passwd", O_RDONLY) >= 0);
    MUST(open("/dev/null", O_RDWR) >= 0);
    REFUSED(open_in("outside", "new", O_WRONLY | O_CREAT), EACCES);
    REFUSED(open_in("queue/other", "file", O_WRONLY), EACCES);
    if (SANITIZED) /* may read everywhere */
        return NULL;
    REFUSED(open("/etc/shadow", O_RDONLY), EACCES);
    REFUSED(open_in("outside", "file", O_RDONLY), EACCES);
    REFUSED(open_in("queue", "file", O_RDONLY), EACCES);
    return NULL;
}

static const char *files_of_a_coordinator(void)
{
    MUST(cse_sandbox_enter(CSE_SANDBOX_COORDINATOR, confinement, NULL) == CSE_OK);
    MUST(open_in("job", "new", O_WRONLY | O_CREAT) == 0);
    MUST(open_in("data", "file", O_RDONLY) == 0);
    MUST(open_in("queue/other", "file", O_RDONLY) == 0);
    REFUSED(open_in("data", "new", O_WRONLY | O_CREAT), EACCES);
    MUST(run_program() == 0);
    return files_of_everybody();
}

static const char *files_of_an_input_worker(void)
{
    MUST(cse_sandbox_enter(CSE_SANDBOX_COORDINATOR, confinement, NULL) == CSE_OK);
    MUST(cse_sandbox_enter(CSE_SANDBOX_INPUT, confinement, NULL) == CSE_OK);
    MUST(open_in("job", "file", O_RDONLY) == 0);
    MUST(open_in("data", "file", O_RDONLY) == 0);
    MUST(open_in("queue/other", "file", O_RDONLY) == 0);
    REFUSED(open_in("job", "more", O_WRONLY | O_CREAT), EACCES);
    return files_of_everybody();
}

static const char *files_of_a_replica(void)
{
    MUST(cse_sandbox_enter(CSE_SANDBOX_COMPUTE, confinement, NULL) == CSE_OK);
    MUST(open_in("job", "file", O_RDONLY) == 0);
    REFUSED(open_in("job", "more", O_WRONLY | O_CREAT), EACCES);
    if (!SANITIZED)
        REFUSED(open_in("data", "file", O_RDONLY), EACCES);
    return files_of_everybody();
}

static const char *files_of_a_mover(void)
{
    MUST(cse_sandbox_enter(CSE_SANDBOX_MOVER, confinement, NULL) == CSE_OK);
    MUST(open("/etc/hosts", O_RDONLY) >= 0);
    MUST(open_in("job", "file", O_RDONLY) == 0);
    REFUSED(open_in("job", "more", O_WRONLY | O_CREAT), EACCES);
    if (!SANITIZED)
        REFUSED(open_in("data", "file", O_RDONLY), EACCES);
    const char *wrong = speaks_with_hosts();
    return wrong != NULL ? wrong : files_of_everybody();
}

static const char *files_of_a_parser(void)
{
    const int before = open("/etc/passwd", O_RDONLY);
    char byte;
    MUST(cse_sandbox_enter(CSE_SANDBOX_PARSER, NULL, NULL) == CSE_OK);
    MUST(read(before, &byte, 1) == 1);
    REFUSED(open_in("job", "more", O_WRONLY | O_CREAT), EACCES);
    if (SANITIZED)
        return NULL;
    REFUSED(open("/etc/passwd", O_RDONLY), EACCES);
    REFUSED(open_in("job", "file", O_RDONLY), EACCES);
    if (filters())
        REFUSED(fork(), EPERM);
    return NULL;
}

START_TEST(the_filter_of_a_coordinator)
{
    in_child(coordinator);
}
END_TEST

START_TEST(the_filter_of_a_worker)
{
    in_child(worker);
}
END_TEST

START_TEST(the_filter_of_a_mover)
{
    in_child(mover);
}
END_TEST

START_TEST(files_of_the_roles)
{
    cse_confinement *made = confinement_of_top();
    confinement = made;
    if (cse_landlock_version() > 0) {
        in_child(files_of_a_coordinator);
        in_child(files_of_an_input_worker);
        in_child(files_of_a_replica);
        in_child(files_of_a_mover);
        in_child(files_of_a_parser);
    }
    cse_confinement_destroy(&made);
    cse_remove_tree(top);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sandbox");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, the_filter_of_a_coordinator);
    tcase_add_test(tests, the_filter_of_a_worker);
    tcase_add_test(tests, the_filter_of_a_mover);
    tcase_add_test(tests, files_of_the_roles);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
