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

#endif
