/* One execution: a compiled step, run for a number of steps by a cluster of processes on this host.
 *
 * The caller's process is the coordinator. It owns the arena, starts replicas, weight servers and
 * input workers (each a fresh `csengine worker` process that loads the artefact and maps the
 * arena), releases steps, delivers records in order, takes state snapshots at the asked-for steps,
 * and leaves nothing behind when it returns: no process, no shared-memory object, no socket. */
#ifndef CSE_WORKERS_CONTROL_EXECUTION_H
#define CSE_WORKERS_CONTROL_EXECUTION_H

#include "workers/control/execution_options.h"

/* Runs it. CSE_INTERRUPTED when stopped NOW; CSE_UNAVAILABLE when a worker cannot start or died;
 * else what a callback or a worker reported. Cleans up in every case. */
cse_status cse_execution_run(const cse_execution *execution, cse_run_result *result);

/* The same for callers with a loop of their own, all in one thread: workers are killed when the
 * thread ends that opened it. `execution` is copied, what it points to is borrowed to the end; it
 * has at least one step. */
typedef struct cse_running cse_running;
cse_status cse_execution_open(const cse_execution *execution, cse_running **running);
/* Handles what has happened, with calls of the callbacks, and then waits for more, at most
 * `most_ns` and a few milliseconds. True: it has ended, and is to be closed. */
bool cse_execution_pump(cse_running *running, int64_t most_ns);
/* After its end. */
cse_status cse_execution_close(cse_running **running, cse_run_result *result);

#endif
