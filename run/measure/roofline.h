/* How close each kernel of a step comes to the machine's limit (Williams, Waterman and Patterson,
 * "Roofline", 2009): the least time that its operations take in registers, or its bytes on their
 * way, whichever is longer. */
#ifndef CSE_RUN_MEASURE_ROOFLINE_H
#define CSE_RUN_MEASURE_ROOFLINE_H

#include "run/measure/group_work.h"
#include "run/measure/kernel_bench.h"
#include "run/measure/machine_limits.h"

typedef struct cse_roofline_row {
    const cse_kernel_times *times;                     /* of kernel_bench.h */
    cse_group_work work;                               /* of one run of one of them */
    double flop, bytes;                                /* of the step, all alike together */
    double gflop_per_second, gb_per_second, intensity; /* FLOP a byte */
    cse_peak peak;                                     /* of its products, else of float32 */
    cse_memory_level level;                            /* that its tensors fit in together */
    bool compute_bound;            /* the limit is that of the registers, else of the level */
    double limit_ms;               /* the least time */
    double limit_gflop_per_second; /* min(peak, bandwidth * intensity); 0 without operations */
    double share;                  /* of the limit: limit_ms over what it took */
} cse_roofline_row;

typedef struct cse_roofline {
    cse_machine_limits limits;
    cse_roofline_row *rows; /* the slowest first; all kernels that ran */
    int count;
    double class_ms[CSE_WORK_CLASS_COUNT], total_ms, step_ms;
    double flop;                            /* of all products of a step */
    double update_ms, update_gb_per_second; /* of the UPDATE program, whose limit is triad */
    /* The step's time over that of its own products, those of attention included; 0 without. */
    double over_products;
    /* Over the time that all products would take at the peak of their types. */
    double over_peak;
} cse_roofline;

/* Kernels below this share of the time of all are left out of tables. */
#define CSE_ROOFLINE_LEAST_SHARE 0.01

/* What one run of a kernel on `limits` must take, in ns: fills in peak, level, compute_bound.
 * `set_bytes`: what lies between two uses of its tensors. */
double cse_roofline_limit_ns(const cse_machine_limits *limits, int64_t set_bytes,
                             cse_roofline_row *row);

/* Rows of the bench's kernels against the limits; both must outlive it. */
cse_roofline *cse_roofline_new(const cse_graph *graph, const cse_kernel_bench *bench,
                               const cse_machine_limits *limits);
void cse_roofline_destroy(cse_roofline **roofline);

#endif
