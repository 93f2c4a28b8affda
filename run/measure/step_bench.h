/* How fast the compiled steps of several configurations are on one core.
 *
 * The steps alternate in one process, so that other load on the machine affects all of them
 * equally, and medians are compared. A training step is input, forward and backward, reduction and
 * update. */
#ifndef CSE_RUN_MEASURE_STEP_BENCH_H
#define CSE_RUN_MEASURE_STEP_BENCH_H

#include "run/measure/kernel_bench.h"
#include "run/measure/roofline.h"

typedef struct cse_step_bench {
    cse_step_runner *runner;
    cse_kernel_bench *kernels; /* NULL: not asked for */
    cse_roofline *roofline;    /* likewise */
    double *clock_ms, *processor_ms;
    int64_t count; /* of steps measured so far */
    /* Of the counted steps. */
    double median_ms, least_ms, median_processor_ms, samples_per_second;
} cse_step_bench;

/* Binds the process, and what it starts, to the first core that is allowed. */
cse_status cse_bind_to_one_core(void);

/* Compiles the training step of the job, as one replica runs it, and opens it for a measurement of
 * `steps` steps. Start from zeroes; close it also after a failure. */
cse_status cse_step_bench_open(const cse_job_settings *job, int64_t steps, cse_step_bench *bench);
void cse_step_bench_close(cse_step_bench *bench);

typedef struct cse_step_measurement {
    int64_t steps; /* of each bench */
    bool kernels;  /* also each kernel, in further steps */
    bool roofline; /* likewise, and the machine's limits before and after them */
    void *self;
    void (*on_turn)(void *self, int64_t done); /* steps of the last bench; or NULL */
} cse_step_measurement;

/* `on_turn` is called between steps that are timed. */
cse_status cse_step_bench_measure(cse_step_bench *benches, int count,
                                  const cse_step_measurement *measurement);

#endif
