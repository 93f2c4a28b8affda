/* The contract of a launcher: how a worker process is started and how its end is detected.
 *
 * Only the launcher decides that a process is gone: when the kernel (or a remote daemon) reports
 * that all its threads have ended, not when it is silent or was sent a signal. A gone process stays
 * a zombie until `destroy`, so that its process id is not reused while its claims are being freed.
 * Each launcher is one file in workers/launchers that ends with its descriptor. */
#ifndef CSE_WORKERS_LAUNCHERS_LAUNCHER_H
#define CSE_WORKERS_LAUNCHERS_LAUNCHER_H

#include <sys/types.h>

#include "csengine/status.h"

typedef struct cse_worker_process cse_worker_process;

typedef struct cse_launch_options {
    const char *executable;         /* path; not searched for */
    char *const *arguments;         /* argv, NULL-terminated */
    const char *const *environment; /* "NAME=value", added to the inherited one; NULL-terminated */
    int inherited_descriptor;       /* open in the child under the same number; -1: none */
    int processor;                  /* to bind to if possible; -1: none */
} cse_launch_options;

/* How a process ended. */
typedef struct cse_exit {
    int code;   /* of exit(); -1 when a signal ended it */
    int signal; /* 0 when it exited */
} cse_exit;

typedef struct cse_launcher {
    const char *name;
    const char *summary;

    /* CSE_UNAVAILABLE when it cannot be executed, CSE_TEMPORARY when the host is out of processes
     * or descriptors. The child ends when this process does, whatever ends it. */
    cse_status (*start)(const cse_launch_options *options, cse_worker_process **process);
    pid_t (*number)(const cse_worker_process *process);
    /* Becomes readable once the process is gone. -1: no descriptor, poll by `gone`. */
    int (*descriptor)(const cse_worker_process *process);
    /* True once it is gone; sets *how. Never blocks. */
    bool (*gone)(cse_worker_process *process, cse_exit *how);
    /* No effect when it is gone already. */
    void (*signal)(cse_worker_process *process, int signal);
    /* Kills it when it still runs, waits until it is gone, and reaps it. */
    void (*destroy)(cse_worker_process **process);
} cse_launcher;

/* The launchers in name order, ended by NULL; written by autogen.sh. */
extern const cse_launcher *const cse_launchers[];

/* The launcher of that name; NULL: "local_process". CSE_CONFIG when there is none. */
cse_status cse_launcher_select(const char *name, const cse_launcher **launcher);

/* "was killed by signal 9 (Killed)", "ended with exit code 65"; `text` is returned. */
const char *cse_exit_text(cse_exit how, char *text, size_t size);

#endif
