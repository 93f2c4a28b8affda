/* Where the time of a sampled step went: what each process did (spans) and how long each kernel ran.
 *
 * The coordinator names a step to sample; each process notes its own times of that step in its slot
 * of the arena, and the coordinator reads them once the step is committed. No result depends on
 * them. */
#ifndef CSE_WORKERS_ARENA_TIMING_H
#define CSE_WORKERS_ARENA_TIMING_H

#include <stdint.h>

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
    int64_t step;     /* steps done when it is over */
    char process[32]; /* "replica 0" */
    cse_span_kind kind;
    int64_t start_ns, end_ns;
} cse_process_span;

/* How long the runs of one kernel (a group of the graph) took a process. A run is one microbatch,
 * one step, or for a kernel of the update a range of its lines. */
typedef struct cse_kernel_time {
    int64_t step;     /* steps done when it is over */
    char process[32]; /* "replica 0" */
    int kernel;       /* index in graph->groups */
    int64_t calls, total_ns, min_ns;
    int64_t median_ns; /* of the last 26 */
} cse_kernel_time;

#endif
