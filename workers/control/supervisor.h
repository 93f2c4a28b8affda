/* The supervisor: the process that stays outside of a job, so that whatever ends the job is noticed
 * and tidied by somebody who is not part of it. */
#ifndef CSE_WORKERS_CONTROL_SUPERVISOR_H
#define CSE_WORKERS_CONTROL_SUPERVISOR_H

/* Runs `body(self)` in a child process, the coordinator, which leads a process group of its own,
 * and returns what this program shall exit with: the body's result, or 128 + the signal that killed
 * it. Call before any thread exists. Forwarded to the body: SIGINT (once each: a terminal's Ctrl-C
 * reaches only the supervisor), SIGTERM, SIGHUP (as SIGTERM); SIGTSTP stops the whole job until
 * SIGCONT. When the body is killed, its workers are killed and its sockets removed; when the
 * supervisor is killed, the body gets SIGTERM. */
int cse_supervisor_run(int (*body)(void *self), void *self);

#endif
