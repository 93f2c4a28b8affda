/* The arena as a worker uses it: its units of work (layout.h, word.h, ring.h), the doorbell, and
 * what it writes to its slot for the coordinator.
 *
 *     cse_cluster_map(descriptor, &cluster);
 *     claim a word, write its payload, publish the word, ring the doorbell; see worker/work.h
 *     cse_cluster_destroy(&cluster); */
#ifndef CSE_WORKERS_ARENA_WORKER_SIDE_H
#define CSE_WORKERS_ARENA_WORKER_SIDE_H

#include "workers/arena/doorbell.h"
#include "workers/arena/failpoint.h"
#include "workers/arena/layout.h"
#include "workers/arena/memory.h"
#include "workers/arena/ring.h"
#include "workers/arena/slots.h"
#include "workers/arena/timing.h"

/* Stores a failure for the coordinator, which then ends the run. */
void cse_cluster_report_failure(cse_cluster *cluster, int slot, cse_status status,
                                const char *message);

/* Records a time span of the slot's process in step `sequence` - 1. Adjacent spans of one kind are
 * merged, very short ones left out. */
void cse_cluster_note_span(cse_cluster *cluster, int slot, int64_t sequence, cse_work_span span);

/* Records that a kernel ran for `ns` in step `sequence` - 1. */
void cse_cluster_note_kernel(cse_cluster *cluster, int slot, int64_t sequence, int kernel,
                             int64_t ns);

#endif
