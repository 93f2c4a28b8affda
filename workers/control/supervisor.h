/* The supervisor: a process outside of the job's process group that waits for the end of the job
 * and cleans up after it, whatever ended it. */
#ifndef CSE_WORKERS_CONTROL_SUPERVISOR_H
#define CSE_WORKERS_CONTROL_SUPERVISOR_H

#include <stdbool.h>

typedef struct cse_supervised {
    int (*body)(void *self);
    /* The body was killed, nothing of it is left: whether another one shall begin. NULL: none. */
    bool (*takes_over)(void *self);
    void *self;
    /* The body is the first process of name spaces (contained.h), and a supervisor itself. */
    bool contains;
    /* Set to the signal that killed the body. NULL: nobody asks. */
    int *killed_by;
} cse_supervised;

/* Runs the body in a child process, the coordinator, the leader of a new process group, and returns
 * the exit code of this program: the body's result, or 128 + the signal that killed it. Call before
 * any thread exists.
 *
 * Forwarded to the body: SIGINT (a terminal's Ctrl-C reaches only the supervisor, so each arrives
 * once), SIGTERM, SIGHUP and SIGPWR (as SIGTERM), SIGUSR1, SIGUSR2 (as SIGUSR1); SIGQUIT kills the
 * job at once; SIGTSTP stops the whole job until SIGCONT. When the
 * body is killed, its workers are killed, its sockets removed, and another body begins, unless it
 * was told to end before. A body that somebody stops (SIGSTOP) for longer than a second is killed.
 * When the supervisor is killed, the body gets SIGTERM. */
int cse_supervisor_run(const cse_supervised *supervised);

/* In name spaces the process outside has no number here that could be compared. Whether it has
 * ended, so that the signal that came was the kernel's and no request; false elsewhere. */
bool cse_supervisor_outside_is_gone(void);

#endif
