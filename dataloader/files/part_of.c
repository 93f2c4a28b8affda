/* The part `low` begins at or before the sample, the part `high` behind it. */
#include "dataloader/files/part_of.h"

int64_t cse_part_of(const int64_t *first, size_t stride, int64_t count, int64_t sample)
{
    const char *parts = (const char *)first;
    int64_t low = 0, high = count;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (*(const int64_t *)(const void *)(parts + (size_t)middle * stride) <= sample)
            low = middle;
        else
            high = middle;
    }
    return low;
}
