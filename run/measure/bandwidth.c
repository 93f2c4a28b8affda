/* One read loop and one triad, with vectors and several independent sums, compiled for the widest
 * instruction set that runs here.
 *
 *   read    8 sums of 64 bytes over an array, again and again; the first pass is not timed
 *   triad   a[i] = b[i] + s * c[i] (McCalpin's STREAM), plain stores */
#include "run/measure/bandwidth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/vector_clones.h"

typedef uint64_t words __attribute__((vector_size(64)));
typedef float lanes __attribute__((vector_size(64)));

enum { SUMS = 8, LANES = 16 };
static const int64_t least_ns = 2000000, bytes_between_looks = (int64_t)1 << 20;
static const int64_t most_array_bytes = (int64_t)128 << 20;

struct cse_bandwidth_arrays {
    lanes *values[3];
    int64_t bytes; /* of each */
};

/* ---- sizes ---- */

const char *cse_memory_level_name(cse_memory_level level)
{
    static const char *const names[CSE_MEMORY_LEVEL_COUNT] = { "L1", "L2", "L3", "memory" };
    return names[level];
}

/* Bytes of cache `index` of the first core: sysfs knows what a virtual machine was given, where the
 * processor itself tells of the whole socket. */
static int64_t cache_bytes(int index)
{
    char path[96];
    long long size = 0;
    char unit = 'B';
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", index);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    int read = fscanf(file, "%lld%c", &size, &unit);
    fclose(file);
    return read < 1 ? 0 : (int64_t)size << (unit == 'M' ? 20 : unit == 'K' ? 10 : 0);
}

int64_t cse_memory_level_bytes(cse_memory_level level)
{
    static const struct {
        int index; /* in sysfs: 1 holds the first level's instructions */
        int64_t usual;
    } caches[CSE_MAIN_MEMORY] = { { 0, 32 << 10 }, { 2, 1 << 20 }, { 3, 16 << 20 } };
    if (level == CSE_MAIN_MEMORY)
        return INT64_MAX;
    const int64_t found = cache_bytes(caches[level].index);
    return found > 0 ? found : caches[level].usual;
}

cse_bandwidth_arrays *cse_bandwidth_arrays_new(void)
{
    cse_bandwidth_arrays *arrays = cse_calloc(1, sizeof *arrays);
    arrays->bytes = 2 * cse_memory_level_bytes(CSE_LEVEL_3_CACHE);
    if (arrays->bytes > most_array_bytes)
        arrays->bytes = most_array_bytes;
    for (int i = 0; i < 3; i++) {
        arrays->values[i] = cse_aligned_calloc((size_t)arrays->bytes);
        memset(arrays->values[i], 0, (size_t)arrays->bytes); /* so that no page is shared */
    }
    return arrays;
}

void cse_bandwidth_arrays_destroy(cse_bandwidth_arrays **arrays)
{
    if (*arrays == NULL)
        return;
    for (int i = 0; i < 3; i++)
        free((*arrays)->values[i]);
    free(*arrays);
    *arrays = NULL;
}

/* ---- loops ---- */

CSE_VECTOR_CLONES(void, read_array, (const words *values, int64_t count), (values, count))
{
    words sums[SUMS] = { { 0 } };
    for (int64_t i = 0; i + SUMS <= count; i += SUMS) {
#pragma GCC unroll 8
        for (int k = 0; k < SUMS; k++)
            sums[k] += values[i + k];
    }
    for (int k = 0; k < SUMS; k++)
        __asm__ volatile("" : : "m"(sums[k]));
}

CSE_VECTOR_CLONES(void, triad, (lanes * a, const lanes *b, const lanes *c, int64_t count),
                  (a, b, c, count))
{
    for (int64_t i = 0; i < count; i++)
        a[i] = b[i] + 3.0F * c[i];
}

double cse_bandwidth_read(const cse_bandwidth_arrays *arrays, cse_memory_level level)
{
    int64_t bytes =
        level == CSE_MAIN_MEMORY ? arrays->bytes : cse_memory_level_bytes(level) / 2 / 512 * 512;
    bytes = bytes > arrays->bytes ? arrays->bytes : bytes;
    const words *values = (const words *)(const void *)arrays->values[0];
    const int64_t count = bytes / (int64_t)sizeof *values;
    int64_t passes = 0, taken_ns, start_ns;
    read_array(values, count);
    start_ns = cse_clock_ns();
    do {
        /* A look at the clock takes as long as reading some KB. */
        for (int64_t done = 0; done < bytes_between_looks; done += bytes, passes++)
            read_array(values, count);
        taken_ns = cse_clock_ns() - start_ns;
    } while (taken_ns < least_ns);
    return (double)(passes * bytes) / (double)taken_ns;
}

double cse_bandwidth_triad(const cse_bandwidth_arrays *arrays)
{
    const int64_t start_ns = cse_clock_ns();
    triad(arrays->values[0], arrays->values[1], arrays->values[2],
          arrays->bytes / (int64_t)sizeof(lanes));
    return 3.0 * (double)arrays->bytes / (double)(cse_clock_ns() - start_ns);
}
