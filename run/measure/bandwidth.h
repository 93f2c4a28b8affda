/* How fast one core moves bytes to and from each level of the memory. A kernel that computes little
 * cannot be faster than the level that its tensors fit in. */
#ifndef CSE_RUN_MEASURE_BANDWIDTH_H
#define CSE_RUN_MEASURE_BANDWIDTH_H

#include <stdint.h>

typedef enum cse_memory_level {
    CSE_LEVEL_1_CACHE,
    CSE_LEVEL_2_CACHE,
    CSE_LEVEL_3_CACHE,
    CSE_MAIN_MEMORY,
    CSE_MEMORY_LEVEL_COUNT
} cse_memory_level;

/* "L1", "L2", "L3", "memory". */
const char *cse_memory_level_name(cse_memory_level level);

/* Bytes of a cache that this core can use; the caches' sizes as the system tells them, or usual
 * ones where it does not. Main memory: INT64_MAX. */
int64_t cse_memory_level_bytes(cse_memory_level level);

/* The arrays that are read and written, made once. */
typedef struct cse_bandwidth_arrays cse_bandwidth_arrays;
cse_bandwidth_arrays *cse_bandwidth_arrays_new(void);
void cse_bandwidth_arrays_destroy(cse_bandwidth_arrays **arrays);

/* GB/s, measured now, in some milliseconds (main memory: some tens): call it several times and keep
 * the most. `cse_bandwidth_read`: of an array that is half as large as the level (four times the
 * last cache for main memory) and was read before. `cse_bandwidth_triad`: of a = b + s * c with
 * arrays beyond the last cache, counting 12 bytes for each element. */
double cse_bandwidth_read(const cse_bandwidth_arrays *arrays, cse_memory_level level);
double cse_bandwidth_triad(const cse_bandwidth_arrays *arrays);

#endif
