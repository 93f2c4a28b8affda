/* Rounds of all loops in turns; the fastest of each loop is its limit, because other load on the
 * machine only ever slows it. */
#include "run/measure/machine_limits.h"

enum { ROUNDS = 7 };

static void raise(double *limit, double measured)
{
    *limit = measured > *limit ? measured : *limit;
}

void cse_machine_limits_measure(cse_machine_limits *limits)
{
    cse_bandwidth_arrays *arrays = cse_bandwidth_arrays_new();
    for (int round = 0; round < ROUNDS; round++) {
        for (cse_peak peak = 0; peak < CSE_PEAK_COUNT; peak++)
            raise(&limits->peaks[peak], cse_peak_measure(peak));
        for (cse_memory_level level = 0; level < CSE_MEMORY_LEVEL_COUNT; level++)
            raise(&limits->reads[level], cse_bandwidth_read(arrays, level));
        raise(&limits->triad, cse_bandwidth_triad(arrays));
    }
    cse_bandwidth_arrays_destroy(&arrays);
}

cse_peak cse_machine_peak_of(const cse_machine_limits *limits, const cse_dtype operands[2])
{
    if (operands[0] != CSE_BFLOAT16 || operands[1] != CSE_BFLOAT16)
        return CSE_PEAK_FLOAT32;
    cse_peak best = CSE_PEAK_FLOAT32;
    for (cse_peak peak = 0; peak < CSE_PEAK_COUNT; peak++)
        best = limits->peaks[peak] > limits->peaks[best] ? peak : best;
    return best;
}

double cse_machine_bandwidth(const cse_machine_limits *limits, cse_memory_level level)
{
    const double read = limits->reads[level];
    return level == CSE_MAIN_MEMORY && limits->triad > read ? limits->triad : read;
}
