/* The supervisor: a process outside of the job's process group that waits for the end of the job
 * and cleans up after it, whatever ended it. */
#ifndef CSE_WORKERS_CONTROL_SUPERVISOR_H
#define CSE_WORKERS_CONTROL_SUPERVISOR_H

/* Runs `body(self)` in a child process, the coordinator, the leader of a new process group,
 * and returns the exit code of this program: the body's result, or 128 + the signal that killed it.
 * Call before any thread exists. Forwarded to the body: SIGINT (a terminal's Ctrl-C reaches only
 * the supervisor, so each arrives once), SIGTERM, SIGHUP (as SIGTERM); SIGTSTP stops the whole job
 * until SIGCONT. When the body is killed, its workers are killed and its sockets removed; when the
 * supervisor is killed, the body gets SIGTERM. */
int cse_supervisor_run(int (*body)(void *self), void *self);

#endif
