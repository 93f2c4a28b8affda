/* A command on another host, seen from here: a child process (the client) and three pipes.
 *
 * Lines of the command's standard output and error are given to the caller, one whole line at a
 * time. Nothing waits, so that one thread can serve many of them: `poll` says which descriptors to
 * wait for, `turn` moves the bytes. Only `start` (until exec) and `destroy` (until a killed child
 * is gone) take a moment of this host's kernel. */
#ifndef CSE_WORKERS_HOST_LAUNCHERS_HOST_PROCESS_H
#define CSE_WORKERS_HOST_LAUNCHERS_HOST_PROCESS_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "workers/host_launchers/host_launcher.h"

/* How a command ended. */
typedef struct cse_host_end {
    cse_exit how; /* of the client */
    bool proved;  /* the command has ended; else it may still run, out of reach */
} cse_host_end;

typedef struct cse_host_process cse_host_process;

enum {
    CSE_HOST_PROCESS_POLLED = 4,
    CSE_HOST_PROCESS_INPUT_BYTES = 1 << 20, /* that may wait to be taken by the command */
    CSE_HOST_PROCESS_LINE_BYTES = 4096,     /* a longer line comes in parts */
};

/* Starts the command. The client leads a session of its own: it has no terminal to ask for a
 * password at, and no Ctrl-C reaches it. CSE_CONFIG, CSE_UNAVAILABLE (also: no such client program)
 * or CSE_TEMPORARY (no processes or descriptors). */
cse_status cse_host_process_start(const cse_host_launcher *launcher, const cse_host_launch *launch,
                                  cse_host_process **process);

const char *cse_host_process_host(const cse_host_process *process);
/* Of the client. */
pid_t cse_host_process_number(const cse_host_process *process);

/* Queues bytes for the command's standard input; they are copied, and overwritten here once they
 * are sent. CSE_TEMPORARY when too much waits already; CSE_UNAVAILABLE when the input is closed, at
 * either end. */
cse_status cse_host_process_send(cse_host_process *process, const void *bytes, size_t size);
/* The command reads the end of its input after what was queued. */
void cse_host_process_close_input(cse_host_process *process);

/* Fills `items` with what to wait for and returns their number. */
int cse_host_process_poll(const cse_host_process *process,
                          struct pollfd items[CSE_HOST_PROCESS_POLLED]);
/* Sends and receives what can be without waiting, and calls on_line. To be called when one of the
 * items is ready, and now and then without (where the kernel has no pidfd). */
void cse_host_process_turn(cse_host_process *process);

/* True once the client is gone and its last lines were given out; sets *end. */
bool cse_host_process_gone(cse_host_process *process, cse_host_end *end);

/* "host n2: ssh ended with exit code 255; whether the command still runs is not known"; `text` is
 * returned. */
const char *cse_host_end_text(const cse_host_process *process, cse_host_end end, char *text,
                              size_t size);

/* To the client and all in its process group; no effect when it is gone. Whether the client hands a
 * signal on is its own affair, so a command is told to leave through its input. */
void cse_host_process_signal(cse_host_process *process, int signal);

/* Kills the client and its process group, waits until it is gone, and reaps it. A command on
 * another host gets no more than the end of its input. */
void cse_host_process_destroy(cse_host_process **process);

#endif
