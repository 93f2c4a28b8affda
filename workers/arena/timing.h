/* Time measurements: how long each process had no work, and for a sampled step what it did (spans)
 * and how long each kernel ran.
 *
 * The coordinator chooses the step to sample; each process records its own times of that step in
 * its part of the arena (worker_side.h), and the coordinator reads them once the step is committed.
 * No result depends on them. */
#ifndef CSE_WORKERS_ARENA_TIMING_H
#define CSE_WORKERS_ARENA_TIMING_H

#include "workers/arena/cluster.h"

/* What a process did. */
typedef enum cse_span_kind {
    CSE_SPAN_WAIT,
    CSE_SPAN_COMPUTE,
    CSE_SPAN_REDUCE,
    CSE_SPAN_WEIGHTS,
    CSE_SPAN_UPDATE,
    CSE_SPAN_FILL,
    CSE_SPAN_KIND_COUNT
} cse_span_kind;

typedef struct cse_process_span {
    int64_t step;     /* number of the step, counted from 1 */
    char process[32]; /* "replica 0" */
    cse_span_kind kind;
    int64_t start_ns, end_ns;
} cse_process_span;

/* How long one process took to run one kernel (a group of the graph). A run covers one microbatch,
 * one step, or for a kernel of the update a range of lines. */
typedef struct cse_kernel_time {
    int64_t step;     /* number of the step, counted from 1 */
    char process[32]; /* "replica 0" */
    int kernel;       /* index in graph->groups */
    int64_t calls, total_ns, min_ns;
    int64_t median_ns; /* of the last 26 */
} cse_kernel_time;

/* What the slot's processes, or all (slot -1), have read and written of an arena in a file; how
 * long something was being read or written, and how long the one who computes waited for it: the
 * rest was hidden behind its work. */
typedef struct cse_disk_load {
    int64_t read_bytes, written_bytes, busy_ns, waited_ns;
} cse_disk_load;
cse_disk_load cse_cluster_disk_load(const cse_cluster *cluster, int slot);

/* Nanoseconds that the slot's processes have had no work: `idle`, what they need was missing
 * (input_wait: the part where it was input); `blocked`, their output was not taken. */
typedef struct cse_slot_load {
    int64_t idle_ns, blocked_ns, input_wait_ns;
    cse_disk_load disk;
} cse_slot_load;
cse_slot_load cse_cluster_slot_load(const cse_cluster *cluster, int slot);

static inline void cse_disk_load_add(cse_disk_load *to, const cse_disk_load *more)
{
    to->read_bytes += more->read_bytes;
    to->written_bytes += more->written_bytes;
    to->busy_ns += more->busy_ns;
    to->waited_ns += more->waited_ns;
}
/* By the slot's process: adds what `now` has more than `before`. */
void cse_cluster_note_disk(cse_cluster *cluster, int slot, const cse_disk_load *now,
                           const cse_disk_load *before);

/* What all processes have computed since the arena was made, without their waits for input. */
typedef struct cse_compute_load {
    int64_t microbatches, compute_ns;
} cse_compute_load;
cse_compute_load cse_cluster_compute_load(const cse_cluster *cluster);

/* Chooses step `step` to be sampled; one step at a time, -1 for none. */
void cse_cluster_sample(cse_cluster *cluster, int64_t step);

/* Reads at most `most` spans of the slot in the sampled step; returns their number. They are
 * complete once the step is committed. */
int cse_cluster_spans(const cse_cluster *cluster, int slot, cse_process_span *spans, int most);
/* Reads the times of at most `most` kernels that the slot's process ran in the sampled step;
 * returns their number: 0 where the step takes tensor statistics as well. */
int cse_cluster_kernel_times(const cse_cluster *cluster, int slot, cse_kernel_time *times,
                             int most);

#endif
