/* `csengine bench step --kernels`: which kernels of the compiled step cost most.
 *
 * Steps that time their kernels take turns with plain ones, so that what timing costs is known,
 * too. Kernels with the same ops, shapes and bytes (those of equal layers) are one row. */
#ifndef CSE_RUN_MEASURE_KERNEL_TABLE_H
#define CSE_RUN_MEASURE_KERNEL_TABLE_H

#include <jansson.h>

#include "run/measure/step_runner.h"

typedef struct cse_kernel_bench cse_kernel_bench;

/* Runs `steps` plain steps and as many timed ones. The times of kernels are those of the timed step
 * in which they took least: the one that was least disturbed. */
cse_status cse_kernel_bench_new(cse_step_runner *runner, int64_t steps, cse_kernel_bench **bench);
void cse_kernel_bench_destroy(cse_kernel_bench **bench);

/* The slowest ones as lines on stdout. */
void cse_kernel_bench_print(const cse_kernel_bench *bench);
/* {"plain_ms", "timed_ms": medians of a step, "step_ms": of the one shown, "kernels": [{"kernel":
 * of the first one, "alike", "part", "ops", "scope", "calls", "ms", "share", "bytes",
 * "gb_per_second"}, ...]}: all of them, by their time. */
json_t *cse_kernel_bench_json(const cse_kernel_bench *bench);

#endif
