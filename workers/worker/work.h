/* The loop of a worker, one unit of work at a time.
 *
 *     cse_set_float_mode(); cse_cluster_map(descriptor, &cluster);
 *     cse_executable_open / cse_dataloader_open; cse_work_new(&options, &work);
 *     for (;;) switch (cse_work_once(work)) {
 *     case CSE_WORK_DONE: break;                       one unit done: check for messages, go on
 *     case CSE_WORK_IDLE: cse_work_wait(work, timeout_ns); break;
 *     case CSE_WORK_ENDED: exit with success
 *     case CSE_WORK_FAILED: exit; cse_error_message() has the message, the arena a copy of it
 *     }
 */
#ifndef CSE_WORKERS_WORKER_WORK_H
#define CSE_WORKERS_WORKER_WORK_H

#include "engine/code/execute/execute.h"
#include "workers/arena/cluster.h"
#include "workers/worker/loader_source.h"

typedef struct cse_work cse_work;

typedef struct cse_work_options {
    cse_cluster *cluster; /* borrowed */
    int slot;
    cse_executable *executable;          /* borrowed; NULL for input workers */
    const cse_microbatch_source *source; /* borrowed; NULL for slots without that role */
    struct cse_value_log *values;        /* borrowed; NULL: no values of tensors are kept */
    /* Of an imagined arena (memory.h): takes the place of its disk; borrowed. `counts_only`: there
     * are no bytes that sums could be made of. NULL, false: as a worker of a run. */
    struct cse_block_io *disk;
    bool counts_only;
} cse_work_options;

typedef enum cse_work_result {
    CSE_WORK_DONE,   /* a unit of work: one microbatch gradient, chunk or microbatch of input */
    CSE_WORK_IDLE,   /* nothing to do at the moment */
    CSE_WORK_ENDED,  /* all steps are done or the coordinator stopped the run */
    CSE_WORK_FAILED, /* message in cse_error_message(), and in the arena for the coordinator */
} cse_work_result;

/* Allocates everything the loop will use. CSE_UNAVAILABLE when the executable's graph is not the
 * arena's. */
cse_status cse_work_new(const cse_work_options *options, cse_work **work);
void cse_work_destroy(cse_work **work);

cse_work_result cse_work_once(cse_work *work);
/* The status of the failure, once FAILED. */
cse_status cse_work_status(const cse_work *work);
/* After IDLE: returns when there may be work, at a control event, or after the timeout. */
void cse_work_wait(cse_work *work, int64_t timeout_ns);

#endif
