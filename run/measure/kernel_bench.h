/* Which kernels of a compiled step cost most.
 *
 * Steps that time their kernels alternate with steps that do not, which shows the overhead of
 * timing. Kernels with the same ops, shapes and bytes (of equal layers) are one row. */
#ifndef CSE_RUN_MEASURE_KERNEL_BENCH_H
#define CSE_RUN_MEASURE_KERNEL_BENCH_H

#include "run/measure/step_runner.h"

enum { CSE_KERNEL_OPS_BYTES = 160 };

typedef struct cse_kernel_times {
    int kernel;                     /* the first of them, as an index in graph->groups */
    int alike;                      /* how many kernels are in this row */
    char ops[CSE_KERNEL_OPS_BYTES]; /* "matmul + add" */
    cse_part part;
    const cse_node *result; /* of the first */
    int64_t calls, ns;      /* in the step, all together */
    int64_t bytes;          /* read and written by a call of one of them */
    double share;           /* of the time of all kernels */
    double gb_per_second;
} cse_kernel_times;

typedef struct cse_kernel_bench {
    double plain_ms, timed_ms; /* medians of a step */
    /* The timed step with the least kernel time: the least disturbed by other processes. */
    double step_ms;
    int64_t total_ns;       /* of its kernels */
    cse_kernel_times *rows; /* the slowest first */
    int count;
} cse_kernel_bench;

/* Runs `steps` plain steps and as many timed ones. The runner must outlive the bench. */
cse_status cse_kernel_bench_new(cse_step_runner *runner, int64_t steps, cse_kernel_bench **bench);
void cse_kernel_bench_destroy(cse_kernel_bench **bench);

#endif
