/* Worker processes on this host: vfork and exec, watched through a pidfd.
 *
 * vfork, so that the pages of a coordinator that holds a large graph are not copied: neither their
 * tables, nor each page that it writes to afterwards. The forking thread stands until exec. Between
 * both only async-signal-safe calls are made, as the parent has threads, and nothing of its memory
 * is changed but the word of the child's number. The child
 * gets SIGKILL when the forking thread ends (so only the coordinator's main thread forks) and then
 * checks that the parent had not ended before that was set. A close-on-exec pipe carries the error
 * of a failed exec: it reads as empty when exec succeeded. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/process_number.h"
#include "engine/base/run_signals.h"
#include "workers/launchers/launch_environment.h"
#include "workers/launchers/launcher.h"

#ifndef P_PIDFD
#define P_PIDFD 3
#endif
#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

struct cse_worker_process {
    pid_t number;
    int descriptor; /* pidfd; -1 on kernels without pidfd_open */
    bool is_gone;
    cse_exit how;
};

/* In the child, after vfork. Returns only when exec failed. */
static void become(const cse_launch_options *options, char **environment, char *number,
                   pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(127);
    struct sigaction plain = { .sa_handler = SIG_DFL };
    for (int n = 1; n < NSIG; n++)
        sigaction(n, &plain, NULL); /* fails for SIGKILL and SIGSTOP, which need no reset */
    cse_run_signals_ignore();       /* the coordinator answers */
    sigset_t none;                  /* after that: its handlers would write to its memory */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (options->processor >= 0 && options->processor < CPU_SETSIZE) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(options->processor, &set);
        sched_setaffinity(0, sizeof set, &set);
    }
    /* Libraries open descriptors without close-on-exec; the child must not inherit them. */
    syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC);
    if (options->inherited_descriptor >= 0)
        fcntl(options->inherited_descriptor, F_SETFD, 0);
    cse_process_number_word(number);
    execve(options->executable, options->arguments, environment);
}

static cse_status exec_failure(const cse_launch_options *options, int error)
{
    return cse_fail(CSE_UNAVAILABLE,
                    "worker executable %s: cannot be started: %s; give the path of csengine in "
                    "CSENGINE_EXECUTABLE",
                    options->executable, strerror(error));
}

/* The errno that the child wrote when exec failed; 0 when exec succeeded. */
static int read_exec_error(int descriptor)
{
    int error = 0;
    ssize_t size;
    do
        size = read(descriptor, &error, sizeof error);
    while (size < 0 && errno == EINTR);
    return size == (ssize_t)sizeof error ? error : 0;
}

static pid_t fork_and_exec(const cse_launch_options *options, char **environment, char *number,
                           int pipe_end)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before); /* no handler of ours runs in the child */
    pid_t parent = getpid();
    pid_t child = vfork();
    if (child == 0) {
        become(options, environment, number, parent);
        int error = errno;
        ssize_t written = write(pipe_end, &error, sizeof error);
        _exit(written == (ssize_t)sizeof error ? 127 : 126);
    }
    int error = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return child;
}

/* One allocation; the word of `number` is in it, which the child completes. */
static char **make_environment(const cse_launch_options *options, char *number)
{
    size_t count = 0;
    while (options->environment != NULL && options->environment[count] != NULL)
        count++;
    const char **changes = cse_calloc(count + 2, sizeof *changes);
    for (size_t i = 0; i < count; i++)
        changes[i] = options->environment[i];
    cse_process_number_word(number);
    changes[count] = number;
    char **environment = cse_launch_environment(changes);
    free(changes);
    return environment;
}

static void local_destroy(cse_worker_process **process);

static cse_status local_start(const cse_launch_options *options, cse_worker_process **process)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return cse_fail(CSE_TEMPORARY, "worker process: no pipe: %s", strerror(errno));
    char number[CSE_PROCESS_NUMBER_BYTES];
    char **environment = make_environment(options, number);
    pid_t child = fork_and_exec(options, environment, number, ends[1]);
    int error = errno;
    free(environment);
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return cse_fail(CSE_TEMPORARY, "worker process: cannot fork: %s", strerror(error));
    }
    cse_worker_process *started = cse_calloc(1, sizeof *started);
    started->number = child;
    started->descriptor = (int)syscall(SYS_pidfd_open, child, 0);
    if (started->descriptor >= 0)
        fcntl(started->descriptor, F_SETFD, FD_CLOEXEC);
    error = read_exec_error(ends[0]);
    close(ends[0]);
    if (error != 0) {
        local_destroy(&started);
        return exec_failure(options, error);
    }
    *process = started;
    return CSE_OK;
}

static pid_t local_number(const cse_worker_process *process)
{
    return process->number;
}

static int local_descriptor(const cse_worker_process *process)
{
    return process->descriptor;
}

/* Polls (WNOHANG) or waits for the end of the process, without reaping. */
static bool look(cse_worker_process *process, int flags)
{
    siginfo_t info = { 0 };
    int result;
    do
        result = waitid(P_PID, (id_t)process->number, &info, WEXITED | WNOWAIT | flags);
    while (result != 0 && errno == EINTR);
    if (result == 0 && info.si_pid == 0)
        return false;
    bool exited = result == 0 && info.si_code == CLD_EXITED;
    bool signalled = result == 0 && !exited;
    /* ECHILD: another caller has reaped it; it is gone, its exit code is lost. */
    process->how = (cse_exit){ .code = exited ? info.si_status : -1,
                               .signal = signalled ? info.si_status : 0 };
    process->is_gone = true;
    return true;
}

static bool local_gone(cse_worker_process *process, cse_exit *how)
{
    if (!process->is_gone && !look(process, WNOHANG))
        return false;
    *how = process->how;
    return true;
}

static void local_signal(cse_worker_process *process, int number)
{
    cse_exit how;
    if (!local_gone(process, &how))
        kill(process->number, number); /* not reaped yet, so the id is still its own */
}

static void local_destroy(cse_worker_process **process)
{
    cse_worker_process *p = *process;
    if (p == NULL)
        return;
    if (!p->is_gone) {
        local_signal(p, SIGKILL);
        look(p, 0);
    }
    while (waitpid(p->number, NULL, 0) < 0 && errno == EINTR)
        continue;
    if (p->descriptor >= 0)
        close(p->descriptor);
    free(p);
    *process = NULL;
}

const cse_launcher cse_launcher_local_process = {
    .name = "local_process",
    .summary = "processes on this host, by fork and exec",
    .start = local_start,
    .number = local_number,
    .descriptor = local_descriptor,
    .gone = local_gone,
    .signal = local_signal,
    .destroy = local_destroy,
};
