/* Processes of jobs, as a server sees them: it starts them, is told of them by files such as those
 * of /proc, reads their run stores and locks, sends them signals and waits for them. What they do a
 * seed decides: they compile, start, run, end well or not, die, and obey signals or do not. */
#ifndef CSE_TESTS_SIMULATION_JOB_HOST_H
#define CSE_TESTS_SIMULATION_JOB_HOST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "store/run_lock.h"

enum { HOST_PROCESSES = 256, HOST_PATH_BYTES = 256 };

typedef struct host_process {
    int64_t pid; /* 0: the place is free */
    char model_dir[HOST_PATH_BYTES];
    bool ended, ignores_signals;
    int how;           /* as waitpid tells it */
    cse_run_lock lock; /* of its run store, once it has it */
    int stage, asked;
    int64_t attempt;
    struct cse_database *database;
} host_process;

typedef struct job_host {
    host_process processes[HOST_PROCESSES];
    int count;
    char folder[HOST_PATH_BYTES]; /* as /proc */
    bool unreachable;             /* the server has been killed: nothing it does has an effect */
    bool quiet;                   /* processes do not die by themselves */
    unsigned (*draw)(unsigned n);
    /* After a process has begun. */
    void (*on_start)(const host_process *begun);
    long starts, deaths;
} job_host;

extern job_host host;

/* `folder` exists. Ends what is left of the last use. */
void host_begin(const char *folder);
/* One process does something. */
void host_turn(void);
/* How many processes of the folder live; "": of all. */
int host_living(const char *model_dir);

/* ---- in place of the system's ---- */

int host_spawn(pid_t *pid, char *const words[]);
int host_kill(pid_t pid, int number);
pid_t host_wait(pid_t pid, int *how);

#endif
