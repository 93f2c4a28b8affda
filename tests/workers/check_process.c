/* Processes, run directories, cores and the supervisor: all started processes end, and
 * nothing is left behind. */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "workers/control/process.h"
#include "workers/control/supervisor.h"
#include "workers/launchers/launcher.h"
#include "workers/messages/run_directory.h"

static const cse_launcher *launcher;

static int open_descriptors(void)
{
    DIR *entries = opendir("/proc/self/fd");
    int count = 0;
    while (readdir(entries) != NULL)
        count++;
    closedir(entries);
    return count;
}

static cse_exit wait_gone(cse_worker_process *process)
{
    cse_exit how = { 0 };
    struct pollfd item = { .fd = launcher->descriptor(process), .events = POLLIN };
    if (item.fd >= 0)
        ck_assert_int_eq(poll(&item, 1, 10000), 1);
    for (int i = 0; i < 10000 && !launcher->gone(process, &how); i++)
        cse_sleep_ns(1000000);
    ck_assert(launcher->gone(process, &how));
    return how;
}

static cse_status start_shell(const char *script, int inherited, cse_worker_process **process)
{
    static const char *const environment[] = { "CSE_TEST_VALUE=new", NULL };
    char shell[] = "sh", option[] = "-c", copy[512];
    snprintf(copy, sizeof copy, "%s", script);
    char *const arguments[] = { shell, option, copy, NULL };
    return launcher->start(&(cse_launch_options){ .executable = "/bin/sh",
                                                  .arguments = arguments,
                                                  .environment = environment,
                                                  .inherited_descriptor = inherited,
                                                  .processor = -1 },
                           process);
}

START_TEST(exit_code_environment_and_descriptor_arrive)
{
    int before = open_descriptors();
    setenv("CSE_TEST_VALUE", "old", 1);
    setenv("CSE_TEST_OTHER", "kept", 1);
    int shared = memfd_create("shared", MFD_CLOEXEC);
    int secret = open("/dev/null", O_RDONLY); /* not marked close-on-exec */
    char script[256];
    snprintf(
        script, sizeof script,
        "echo $CSE_TEST_VALUE $CSE_TEST_OTHER >&%d; test -e /proc/self/fd/%d && exit 9; exit 7",
        shared, secret);
    cse_worker_process *process;
    ck_assert_int_eq(start_shell(script, shared, &process), CSE_OK);
    cse_exit how = wait_gone(process);
    ck_assert_int_eq(how.code, 7);
    ck_assert_int_eq(how.signal, 0);
    launcher->destroy(&process);
    ck_assert_ptr_null(process);
    char text[64] = "";
    ck_assert_int_eq(pread(shared, text, sizeof text - 1, 0), 9);
    ck_assert_str_eq(text, "new kept\n");
    close(shared);
    close(secret);
    ck_assert_int_eq(open_descriptors(), before);
}
END_TEST

START_TEST(a_missing_program_is_a_clear_error)
{
    int before = open_descriptors();
    cse_worker_process *process = NULL;
    char name[] = "csengine";
    char *const arguments[] = { name, NULL };
    ck_assert_int_eq(launcher->start(&(cse_launch_options){ .executable = "/nowhere/csengine",
                                                            .arguments = arguments,
                                                            .inherited_descriptor = -1,
                                                            .processor = -1 },
                                     &process),
                     CSE_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "/nowhere/csengine"));
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "No such file"));
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    ck_assert_int_eq(errno, ECHILD);
    ck_assert_int_eq(open_descriptors(), before);
}
END_TEST

START_TEST(killed_and_stopped_processes_end)
{
    cse_worker_process *process;
    cse_exit how;
    ck_assert_int_eq(start_shell("exec sleep 1000", -1, &process), CSE_OK);
    ck_assert(!launcher->gone(process, &how));
    launcher->signal(process, SIGSTOP);
    launcher->signal(process, SIGKILL); /* a stopped process dies at once */
    how = wait_gone(process);
    ck_assert_int_eq(how.signal, SIGKILL);
    /* A zombie until destroyed: its number is still its own. */
    ck_assert_int_eq(kill(launcher->number(process), 0), 0);
    launcher->signal(process, SIGTERM);
    launcher->destroy(&process);
    char text[128];
    ck_assert_str_eq(cse_exit_text(how, text, sizeof text), "was killed by signal 9 (Killed)");
    ck_assert_str_eq(cse_exit_text((cse_exit){ .code = 65 }, text, sizeof text),
                     "ended with exit code 65");
}
END_TEST

START_TEST(destroy_kills_what_still_runs)
{
    cse_worker_process *process;
    ck_assert_int_eq(start_shell("trap '' TERM; exec sleep 1000", -1, &process), CSE_OK);
    pid_t number = launcher->number(process);
    launcher->destroy(&process);
    ck_assert_int_eq(kill(number, 0), -1);
    ck_assert_int_eq(errno, ESRCH);
}
END_TEST

/* The child's child, whose number comes through a pipe, must die with the child. */
START_TEST(workers_die_with_the_coordinator)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t coordinator = fork();
    if (coordinator == 0) {
        cse_worker_process *process;
        if (start_shell("exec sleep 1000", -1, &process) != CSE_OK)
            _exit(1);
        pid_t number = launcher->number(process);
        if (write(ends[1], &number, sizeof number) != (ssize_t)sizeof number)
            _exit(1);
        for (;;)
            pause();
    }
    pid_t worker;
    ck_assert_int_eq(read(ends[0], &worker, sizeof worker), (ssize_t)sizeof worker);
    kill(coordinator, SIGKILL);
    waitpid(coordinator, NULL, 0);
    int status;
    ck_assert_int_eq(waitpid(worker, &status, 0), worker); /* hangs when it lives on */
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

START_TEST(the_executable_is_found_or_named)
{
    char path[PATH_MAX];
    setenv("CSENGINE_EXECUTABLE", "/bin/sh", 1);
    ck_assert_int_eq(cse_worker_executable("/bin/ls", path, sizeof path), CSE_OK);
    ck_assert_str_eq(path, "/bin/ls");
    ck_assert_int_eq(cse_worker_executable(NULL, path, sizeof path), CSE_OK);
    ck_assert_str_eq(path, "/bin/sh");
    setenv("CSENGINE_EXECUTABLE", "/nowhere/csengine", 1);
    ck_assert_int_eq(cse_worker_executable(NULL, path, sizeof path), CSE_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "/nowhere/csengine (CSENGINE_EXECUTABLE)"));
}
END_TEST

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

START_TEST(run_directories_are_private_and_removed)
{
    int before = open_descriptors();
    cse_run_directory directory;
    ck_assert_int_eq(cse_run_directory_make(&directory), CSE_OK);
    char path[CSE_RUN_DIRECTORY_BYTES], file[CSE_RUN_DIRECTORY_BYTES + 20];
    snprintf(path, sizeof path, "%s", directory.path);
    struct stat facts;
    ck_assert_int_eq(stat(path, &facts), 0);
    ck_assert_int_eq(facts.st_mode & 0777, 0700);
    snprintf(file, sizeof file, "%s/control", path);
    close(open(file, O_CREAT | O_WRONLY, 0600));
    cse_run_directory_sweep(); /* in use: stays */
    ck_assert(exists(file));
    cse_run_directory_remove(&directory);
    ck_assert(!exists(path));
    ck_assert_int_eq(open_descriptors(), before);
}
END_TEST

START_TEST(an_abandoned_run_directory_is_swept)
{
    char *path = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t owner = fork();
    if (owner == 0) {
        cse_run_directory directory;
        if (cse_run_directory_make(&directory) == CSE_OK)
            snprintf(path, 4096, "%s", directory.path);
        raise(SIGKILL);
    }
    waitpid(owner, NULL, 0);
    ck_assert(exists(path));
    cse_run_directory_sweep();
    ck_assert(!exists(path));
    munmap(path, 4096);
}
END_TEST

START_TEST(without_a_runtime_directory_tmp_serves)
{
    cse_run_directory directory;
    setenv("XDG_RUNTIME_DIR", "/nowhere", 1);
    ck_assert_int_eq(cse_run_directory_make(&directory), CSE_OK);
    ck_assert_int_eq(strncmp(directory.path, "/tmp/", 5), 0);
    cse_run_directory_remove(&directory);
}
END_TEST

/* ---- Supervisor ---- */

/* What the body tells the test: it runs in another process. */
typedef struct told {
    volatile sig_atomic_t interrupts, terminations, running;
    volatile pid_t body, worker;
    char directory[CSE_RUN_DIRECTORY_BYTES];
} told;

static told *shared;

static void count_interrupt(int number)
{
    (void)number;
    shared->interrupts++;
}

static void count_termination(int number)
{
    (void)number;
    shared->terminations++;
}

static int return_five(void *self)
{
    (void)self;
    return 5;
}

/* Has a worker and a directory, and ends by SIGTERM cleanly. */
static int serve_until_terminated(void *self)
{
    (void)self;
    struct sigaction interrupt = { .sa_handler = count_interrupt };
    struct sigaction terminate = { .sa_handler = count_termination };
    sigaction(SIGINT, &interrupt, NULL);
    sigaction(SIGTERM, &terminate, NULL);
    cse_worker_process *process;
    cse_run_directory directory;
    if (start_shell("exec sleep 1000", -1, &process) != CSE_OK ||
        cse_run_directory_make(&directory) != CSE_OK)
        return 1;
    shared->worker = launcher->number(process);
    memcpy(shared->directory, directory.path, sizeof shared->directory);
    shared->body = getpid();
    shared->running = 1;
    while (shared->terminations == 0)
        cse_sleep_ns(1000000);
    launcher->destroy(&process);
    cse_run_directory_remove(&directory);
    return 3;
}

static void set_up_shared(void)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* so that orphans can be waited for here */
}

static void tear_down_shared(void)
{
    munmap(shared, sizeof *shared);
}

static pid_t start_supervisor(void)
{
    pid_t supervisor = fork();
    if (supervisor == 0)
        _exit(cse_supervisor_run(&(cse_supervised){ .body = serve_until_terminated }));
    for (int i = 0; i < 10000 && !shared->running; i++)
        cse_sleep_ns(1000000);
    ck_assert(shared->running);
    return supervisor;
}

static void wait_until_nothing_is_left(void)
{
    int64_t end = cse_clock_ns() + INT64_C(10000000000);
    while (cse_clock_ns() < end) {
        while (waitpid(-1, NULL, WNOHANG) > 0)
            continue;
        if (kill(shared->worker, 0) != 0 && kill(shared->body, 0) != 0 &&
            !exists(shared->directory))
            return;
        cse_sleep_ns(1000000);
    }
    ck_abort_msg("left: worker %d, body %d, directory %d", kill(shared->worker, 0) == 0,
                 kill(shared->body, 0) == 0, exists(shared->directory));
}

START_TEST(the_supervisor_hands_the_result_on)
{
    ck_assert_int_eq(cse_supervisor_run(&(cse_supervised){ .body = return_five }), 5);
}
END_TEST

START_TEST(interrupts_reach_the_body_once_each)
{
    pid_t supervisor = start_supervisor();
    for (int i = 1; i <= 2; i++) {
        kill(supervisor, SIGINT);
        for (int wait = 0; wait < 5000 && shared->interrupts < i; wait++)
            cse_sleep_ns(1000000);
        ck_assert_int_eq(shared->interrupts, i);
    }
    kill(supervisor, SIGTERM);
    int status;
    ck_assert_int_eq(waitpid(supervisor, &status, 0), supervisor);
    ck_assert_int_eq(WEXITSTATUS(status), 3);
    ck_assert_int_eq(shared->interrupts, 2);
    ck_assert_int_eq(shared->terminations, 1);
    wait_until_nothing_is_left();
}
END_TEST

START_TEST(a_killed_body_leaves_nothing)
{
    pid_t supervisor = start_supervisor();
    kill(shared->body, SIGKILL);
    int status;
    ck_assert_int_eq(waitpid(supervisor, &status, 0), supervisor);
    ck_assert_int_eq(WEXITSTATUS(status), 128 + SIGKILL);
    ck_assert(!exists(shared->directory)); /* before the supervisor ends, not some time later */
    ck_assert(kill(shared->worker, 0) != 0);
    wait_until_nothing_is_left();
}
END_TEST

START_TEST(a_killed_supervisor_leaves_nothing)
{
    pid_t supervisor = start_supervisor();
    kill(supervisor, SIGKILL);
    waitpid(supervisor, NULL, 0);
    wait_until_nothing_is_left();
    /* One for each thread of the supervisor that dies; the thread sanitizer adds a thread. */
    ck_assert_int_ge(shared->terminations, 1);
}
END_TEST

int main(void)
{
    if (cse_launcher_select("local_process", &launcher) != CSE_OK)
        return 1;
    Suite *suite = suite_create("process");
    TCase *processes = tcase_create("processes");
    tcase_set_timeout(processes, 600);
    tcase_add_test(processes, exit_code_environment_and_descriptor_arrive);
    tcase_add_test(processes, a_missing_program_is_a_clear_error);
    tcase_add_test(processes, killed_and_stopped_processes_end);
    tcase_add_test(processes, destroy_kills_what_still_runs);
    tcase_add_test(processes, workers_die_with_the_coordinator);
    tcase_add_test(processes, the_executable_is_found_or_named);
    tcase_add_test(processes, run_directories_are_private_and_removed);
    tcase_add_test(processes, an_abandoned_run_directory_is_swept);
    tcase_add_test(processes, without_a_runtime_directory_tmp_serves);
    TCase *supervisors = tcase_create("supervisor");
    tcase_set_timeout(supervisors, 600);
    tcase_add_checked_fixture(supervisors, set_up_shared, tear_down_shared);
    tcase_add_test(supervisors, the_supervisor_hands_the_result_on);
    tcase_add_test(supervisors, interrupts_reach_the_body_once_each);
    tcase_add_test(supervisors, a_killed_body_leaves_nothing);
    tcase_add_test(supervisors, a_killed_supervisor_leaves_nothing);
    suite_add_tcase(suite, processes);
    suite_add_tcase(suite, supervisors);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
