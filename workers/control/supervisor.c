/* A parent process that waits for the coordinator.
 *
 * The coordinator may die at any point, so it cannot clean up after itself. Its workers die with it
 * (PR_SET_PDEATHSIG); to be sure, the supervisor kills the process group, waits until the orphans
 * are gone (it is their subreaper), and removes the coordinator's files. Then another coordinator
 * begins. */
#include "workers/control/supervisor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "csengine/status.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/memory_limit.h"
#include "engine/base/run_signals.h"
#include "workers/messages/run_directory.h"

/* A body that is stopped for longer is replaced. Less than a second, as timespec has it. */
#define STOP_NS INT64_C(999999999)

static void keep(void *set, int number, cse_run_signal meaning)
{
    (void)meaning;
    sigaddset(set, number);
}

/* Of a body that is the first process of a name space: there a signal without a handler is lost, so
 * that they stay blocked until it supervises in its turn. */
static sigset_t mask_outside;
static bool is_contained;
static int outside = -1; /* a descriptor of the process outside */

static void fill_kept(sigset_t *set)
{
    sigemptyset(set);
    cse_run_signals_each(keep, set);
    sigaddset(set, SIGQUIT);
    sigaddset(set, SIGTSTP);
    sigaddset(set, SIGCHLD);
}

bool cse_supervisor_outside_is_gone(void)
{
    struct pollfd end = { .fd = outside, .events = POLLIN };
    return outside >= 0 && poll(&end, 1, 0) > 0;
}

/* A process of another name space has no number here: it is 0. */
static bool is_left_alone(const cse_supervised *s, pid_t supervisor)
{
    return s->contains ? cse_supervisor_outside_is_gone() : getppid() != supervisor;
}

static int run_body(const cse_supervised *s, pid_t supervisor, int supervisor_descriptor,
                    const sigset_t *before)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    outside = s->contains ? supervisor_descriptor : outside;
    if (is_left_alone(s, supervisor))
        return cse_status_exit_code(CSE_INTERRUPTED);
    /* The group is in the terminal's background; with `stty tostop` its output would stop it. */
    signal(SIGTTOU, SIG_IGN);
    is_contained = s->contains;
    if (is_contained)
        mask_outside = *before;
    else
        sigprocmask(SIG_SETMASK, before, NULL);
    return s->body(s->self);
}

/* Ctrl-Z: stops the group, then the supervisor, until it is continued. */
static void suspend(pid_t group)
{
    sigset_t goes_on;
    sigemptyset(&goes_on);
    sigaddset(&goes_on, SIGCONT);
    kill(-group, SIGSTOP);
    if (getpid() == 1)
        sigwaitinfo(&goes_on, NULL); /* the first process of a name space cannot stop itself */
    else
        raise(SIGSTOP);
    kill(-group, SIGCONT);
}

/* The same of a body that is a supervisor itself. */
static void suspend_contained(pid_t first)
{
    kill(first, SIGTSTP);
    raise(SIGSTOP);
    kill(first, SIGCONT);
}

/* A process that is being watched. */
typedef struct watched {
    pid_t child;
    bool ended;
    int status;           /* then */
    int64_t stopped_ns;   /* when it was seen to be stopped; 0: it is not */
    bool told_to_quit;    /* SIGQUIT came: at once */
    bool told_to_end;     /* a signal for it came */
    bool contains;        /* the first process of a name space */
    int64_t memory_kills; /* the kernel's, when it began */
} watched;

/* Takes what happened to children; true when `child` has ended. Orphans of the job come here, too.
 */
static bool take_changes(watched *w)
{
    int status;
    pid_t changed;
    while ((changed = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED)) > 0) {
        if (changed != w->child)
            continue;
        w->ended = WIFEXITED(status) || WIFSIGNALED(status);
        w->status = status;
        w->stopped_ns = WIFSTOPPED(status) ? cse_clock_ns() : 0;
        if (w->ended)
            return true;
    }
    if (changed < 0 && errno == ECHILD) {
        w->ended = true;
        w->status = 0;
    }
    return w->ended;
}

static void forward(watched *w, int number)
{
    if (number == SIGTSTP) {
        if (w->contains)
            suspend_contained(w->child);
        else
            suspend(w->child);
        w->stopped_ns = 0;
    } else if (number == SIGQUIT) {
        w->told_to_end = w->told_to_quit = true;
        kill(-w->child, SIGKILL);
    } else if (cse_run_signal_of(number) == CSE_SIGNAL_PREEMPT) {
        w->told_to_end = true;
        kill(w->child, SIGUSR1);
    } else if (cse_run_signal_of(number) == CSE_SIGNAL_END) {
        w->told_to_end = true;
        kill(w->child, number == SIGINT ? SIGINT : SIGTERM);
    }
}

/* Handles signals until the child has ended. */
static void watch(watched *w, const sigset_t *kept)
{
    while (!take_changes(w)) {
        if (w->stopped_ns == 0) {
            forward(w, sigwaitinfo(kept, NULL));
            continue;
        }
        const int64_t left_ns = w->stopped_ns + STOP_NS - cse_clock_ns();
        const struct timespec timeout = { .tv_nsec = left_ns > 0 ? (long)left_ns : 0 };
        int number = sigtimedwait(kept, NULL, &timeout);
        if (number > 0)
            forward(w, number);
        else if (errno == EAGAIN && !take_changes(w) && w->stopped_ns != 0)
            kill(w->child, SIGKILL);
        if (w->ended)
            return;
    }
}

/* Kills the remaining processes of the job and waits for their end; not for that of agents, which
 * have groups of their own, go on with the run, and may be orphans here where they are on this
 * machine. */
static void tidy(pid_t group)
{
    int64_t give_up_ns = cse_clock_ns() + INT64_C(5000000000);
    kill(-group, SIGKILL);
    while (cse_clock_ns() < give_up_ns) {
        pid_t ended = waitpid(-group, NULL, WNOHANG);
        if (ended < 0 && errno == ECHILD)
            break;
        if (ended == 0)
            cse_sleep_ns(1000000);
    }
    cse_run_directory_sweep();
}

/* 0, or -1 when no process can be made. */
static int begin(const cse_supervised *s, watched *w, const sigset_t *before)
{
    fflush(NULL); /* else buffered output would be written twice */
    const pid_t supervisor = getpid();
    const int descriptor = s->contains ? (int)syscall(SYS_pidfd_open, supervisor, 0) : -1;
    *w = (watched){ .memory_kills = cse_memory_kills_look(), .contains = s->contains };
    w->child = fork();
    if (w->child == 0)
        exit(run_body(s, supervisor, descriptor, before));
    if (descriptor >= 0)
        close(descriptor);
    if (w->child < 0)
        return -1;
    setpgid(w->child, w->child); /* both processes call it, so neither has to wait for the other */
    return 0;
}

typedef struct pending_end {
    sigset_t pending;
    bool came;
} pending_end;

static void look_for_end(void *self, int number, cse_run_signal meaning)
{
    pending_end *p = self;
    p->came = p->came || (meaning != CSE_SIGNAL_NOTHING && sigismember(&p->pending, number) == 1);
}

/* Whether the supervisor was asked to end the job. A signal that came before the body's death may
 * still be pending where the death was seen while an earlier change of a child was handled. */
static bool is_told_to_end(const watched *w)
{
    pending_end p = { .came = w->told_to_end };
    sigpending(&p.pending);
    cse_run_signals_each(look_for_end, &p);
    return p.came || sigismember(&p.pending, SIGQUIT) == 1;
}

/* "killed by signal 9 (Killed)", or by whom where that is known; `text` is returned. */
static const char *death_text(const watched *w, char *text, size_t size)
{
    const int number = WTERMSIG(w->status);
    const cse_memory_limit limit = cse_memory_limit_look();
    if (number != SIGKILL || w->memory_kills < 0 || cse_memory_kills_look() == w->memory_kills)
        snprintf(text, size, "killed by signal %d (%s)", number, strsignal(number));
    else
        snprintf(text, size, "killed by signal 9, probably for lack of memory: %s allows %lld MiB",
                 limit.file[0] != '\0' ? limit.file : "this machine",
                 (long long)(limit.bytes >> 20));
    return text;
}

/* The exit code; negative: another body shall begin. */
static int end(const cse_supervised *s, const watched *w)
{
    if (WIFEXITED(w->status))
        return WEXITSTATUS(w->status);
    char death[CSE_MEMORY_FILE_BYTES + 128];
    death_text(w, death, sizeof death);
    tidy(w->child);
    if (s->killed_by != NULL && !is_told_to_end(w))
        *s->killed_by = WTERMSIG(w->status);
    if (!is_told_to_end(w) && s->takes_over != NULL && s->takes_over(s->self)) {
        cse_log_line(CSE_LOG_WARNING, "the coordinator was %s; another one takes the run over",
                     death);
        return -1;
    }
    cse_log_line(CSE_LOG_ERROR,
                 "the %s was %s; its workers were ended and its files removed; start again to go "
                 "on from the last checkpoint",
                 s->contains ? "job's first process" : "coordinator", death);
    return 128 + WTERMSIG(w->status);
}

int cse_supervisor_run(const cse_supervised *supervised)
{
    sigset_t kept, before;
    watched w;
    int exit_code = -1;
    fill_kept(&kept);
    if (getpid() == 1)
        sigaddset(&kept, SIGCONT);
    sigprocmask(SIG_BLOCK, &kept, &before);
    if (is_contained)
        before = mask_outside;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    while (exit_code < 0) {
        if (begin(supervised, &w, &before) != 0) {
            cse_log_line(
                CSE_LOG_ERROR,
                "cannot start the coordinator: fork: %s; memory or processes are short; see "
                "`csengine doctor`",
                strerror(errno));
            exit_code = cse_status_exit_code(CSE_TEMPORARY);
            break;
        }
        watch(&w, &kept);
        exit_code = end(supervised, &w);
        if (w.told_to_quit)
            exit_code = 128 + SIGQUIT;
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return exit_code;
}
