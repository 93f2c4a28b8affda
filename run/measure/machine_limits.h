/* The ceilings of this machine, for one core: register peaks and bandwidths. They are measured in
 * the run that uses them, since the clock of a shared machine drifts. */
#ifndef CSE_RUN_MEASURE_MACHINE_LIMITS_H
#define CSE_RUN_MEASURE_MACHINE_LIMITS_H

#include "engine/base/types/dtype.h"
#include "run/measure/bandwidth.h"
#include "run/measure/register_peak.h"

typedef struct cse_machine_limits {
    double peaks[CSE_PEAK_COUNT];         /* GFLOP/s; 0: not here */
    double reads[CSE_MEMORY_LEVEL_COUNT]; /* GB/s */
    double triad;                         /* GB/s */
} cse_machine_limits;

/* Measures some rounds, and raises each limit that a round surpasses; start from zeroes. Takes
 * about a second. */
void cse_machine_limits_measure(cse_machine_limits *limits);

/* The register peak for products of operands of these types: the fastest instruction for two
 * bfloat16, else that of float32, to which other 16-bit operands are widened. */
cse_peak cse_machine_peak_of(const cse_machine_limits *limits, const cse_dtype operands[2]);

/* GB/s from and to a level. Main memory: the greater of triad and read, since a kernel may only
 * read. */
double cse_machine_bandwidth(const cse_machine_limits *limits, cse_memory_level level);

#endif
