/* A parent process that waits for the coordinator.
 *
 * The coordinator may die at any point, so it cannot clean up after itself. Its workers die with it
 * (PR_SET_PDEATHSIG); to be sure, the supervisor kills the process group, waits until the orphans
 * are gone (it is their subreaper), and removes the coordinator's files. */
#include "workers/control/supervisor.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "csengine/status.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "workers/messages/run_directory.h"

static const int kept_signals[] = { SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGCHLD };

static void fill_kept(sigset_t *set)
{
    sigemptyset(set);
    for (size_t i = 0; i < sizeof kept_signals / sizeof kept_signals[0]; i++)
        sigaddset(set, kept_signals[i]);
}

static int run_body(int (*body)(void *self), void *self, pid_t supervisor, const sigset_t *before)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    if (getppid() != supervisor)
        return cse_status_exit_code(CSE_INTERRUPTED);
    /* The group is in the terminal's background; with `stty tostop` its output would stop it. */
    signal(SIGTTOU, SIG_IGN);
    sigprocmask(SIG_SETMASK, before, NULL);
    return body(self);
}

/* Ctrl-Z: stops the group, then the supervisor, until it is continued. */
static void suspend(pid_t group)
{
    kill(-group, SIGSTOP);
    raise(SIGSTOP);
    kill(-group, SIGCONT);
}

/* Handles signals until `child` has ended; its wait status is returned. */
static int watch(pid_t child, const sigset_t *kept)
{
    for (;;) {
        int status;
        pid_t ended;
        while ((ended = waitpid(-1, &status, WNOHANG)) > 0) /* orphans of the job come here, too */
            if (ended == child)
                return status;
        if (ended < 0 && errno == ECHILD)
            return 0;
        int number = sigwaitinfo(kept, NULL);
        if (number == SIGINT)
            kill(child, SIGINT);
        else if (number == SIGTERM || number == SIGHUP)
            kill(child, SIGTERM);
        else if (number == SIGTSTP)
            suspend(child);
    }
}

/* Kills the remaining processes of the job and waits for their end. */
static void tidy(pid_t group)
{
    int64_t give_up_ns = cse_clock_ns() + INT64_C(5000000000);
    kill(-group, SIGKILL);
    while (cse_clock_ns() < give_up_ns) {
        pid_t ended = waitpid(-1, NULL, WNOHANG);
        if (ended < 0 && errno == ECHILD)
            break;
        if (ended == 0)
            cse_sleep_ns(1000000);
    }
    cse_run_directory_sweep();
}

int cse_supervisor_run(int (*body)(void *self), void *self)
{
    sigset_t kept, before;
    fill_kept(&kept);
    sigprocmask(SIG_BLOCK, &kept, &before);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    fflush(NULL); /* else buffered output would be written twice */
    pid_t supervisor = getpid();
    pid_t child = fork();
    if (child < 0) {
        cse_log_line(CSE_LOG_ERROR, "cannot start the coordinator: fork: %s", strerror(errno));
        sigprocmask(SIG_SETMASK, &before, NULL);
        return cse_status_exit_code(CSE_TEMPORARY);
    }
    if (child == 0)
        exit(run_body(body, self, supervisor, &before));
    setpgid(child, child); /* both processes call it, so neither has to wait for the other */
    int status = watch(child, &kept);
    if (WIFEXITED(status)) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        return WEXITSTATUS(status);
    }
    int number = WTERMSIG(status);
    tidy(child);
    cse_log_line(
        CSE_LOG_ERROR,
        "the coordinator was killed by signal %d (%s); its workers were ended and its files "
        "removed; start again to go on from the last checkpoint",
        number, strsignal(number));
    sigprocmask(SIG_SETMASK, &before, NULL);
    return 128 + number;
}
