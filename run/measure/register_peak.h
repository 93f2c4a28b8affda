/* What one core's registers give: the floating-point operations a second of loops that load and
 * store nothing. A kernel cannot be faster than the loop of its type. */
#ifndef CSE_RUN_MEASURE_REGISTER_PEAK_H
#define CSE_RUN_MEASURE_REGISTER_PEAK_H

#include <stdbool.h>

typedef enum cse_peak {
    CSE_PEAK_FLOAT32,        /* fused multiply-adds of the widest vectors */
    CSE_PEAK_BFLOAT16_DOTS,  /* VDPBF16PS: products of two pairs, added to a float32 */
    CSE_PEAK_BFLOAT16_TILES, /* AMX, TDPBF16PS: a product of two tiles of 16 x 32 */
    CSE_PEAK_COUNT
} cse_peak;

/* "VDPBF16PS", for tables. */
const char *cse_peak_name(cse_peak peak);
bool cse_peak_is_here(cse_peak peak);

/* GFLOP/s (a multiplication and an addition count as two), measured now, in about 2 ms: call it
 * several times and keep the most. 0 where the instruction does not exist. */
double cse_peak_measure(cse_peak peak);

#endif
