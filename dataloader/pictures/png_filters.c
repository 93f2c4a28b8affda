/* Pixels of 3 and 4 bytes, as colours have them, are one vector each; others go byte by byte. */
#include "dataloader/pictures/png_filters.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/vector_clones.h"

typedef uint8_t bytes8 __attribute__((vector_size(8)));
typedef int16_t lanes __attribute__((vector_size(16)));

static inline lanes load(const unsigned char *at)
{
    bytes8 bytes;
    memcpy(&bytes, at, sizeof bytes);
    return __builtin_convertvector(bytes, lanes);
}

static inline void store(lanes values, unsigned char *at, size_t step)
{
    const bytes8 bytes = __builtin_convertvector(values, bytes8);
    memcpy(at, &bytes, step);
}

static inline lanes size_of(lanes values)
{
    const lanes sign = values >> 15;
    return (values ^ sign) - sign;
}

/* The one of the three that is nearest to left + above - corner; of equals the first. */
static inline lanes nearest_of(lanes left, lanes above, lanes corner)
{
    const lanes to_left = size_of(above - corner), to_above = size_of(left - corner);
    const lanes to_corner = size_of(left + above - corner - corner);
    const lanes is_left = (to_left <= to_above) & (to_left <= to_corner);
    const lanes is_above = ~is_left & (to_above <= to_corner);
    return (left & is_left) | (above & is_above) | (corner & ~(is_left | is_above));
}

#define PIXELS(name, step)                                                                  \
    static void name##_left(unsigned char *row, size_t size)                                \
    {                                                                                       \
        lanes left = { 0 };                                                                 \
        for (size_t i = 0; i < size; i += (step)) {                                         \
            left = (left + load(row + i)) & 255;                                            \
            store(left, row + i, step);                                                     \
        }                                                                                   \
    }                                                                                       \
    static void name##_mean(unsigned char *row, const unsigned char *above, size_t size)    \
    {                                                                                       \
        lanes left = { 0 };                                                                 \
        for (size_t i = 0; i < size; i += (step)) {                                         \
            left = (load(row + i) + ((left + load(above + i)) >> 1)) & 255;                 \
            store(left, row + i, step);                                                     \
        }                                                                                   \
    }                                                                                       \
    static void name##_nearest(unsigned char *row, const unsigned char *above, size_t size) \
    {                                                                                       \
        lanes left = { 0 }, corner = { 0 };                                                 \
        for (size_t i = 0; i < size; i += (step)) {                                         \
            const lanes up = load(above + i);                                               \
            left = (load(row + i) + nearest_of(left, up, corner)) & 255;                    \
            store(left, row + i, step);                                                     \
            corner = up;                                                                    \
        }                                                                                   \
    }

PIXELS(three, 3)
PIXELS(four, 4)

enum { BLOCK = 64 };

CSE_VECTOR_CLONES(void, add_above, (unsigned char *row, const unsigned char *above, size_t size),
                  (row, above, size))
{
    size_t i = 0;
    for (; i + BLOCK <= size; i += BLOCK) {
        unsigned char sums[BLOCK];
        for (int k = 0; k < BLOCK; k++)
            sums[k] = (unsigned char)(row[i + (size_t)k] + above[i + (size_t)k]);
        memcpy(row + i, sums, BLOCK);
    }
    for (; i < size; i++)
        row[i] = (unsigned char)(row[i] + above[i]);
}

static unsigned char nearest(int left, int above, int corner)
{
    const int to_left = abs(above - corner), to_above = abs(left - corner);
    const int to_corner = abs(left + above - 2 * corner);
    if (to_left <= to_above && to_left <= to_corner)
        return (unsigned char)left;
    return (unsigned char)(to_above <= to_corner ? above : corner);
}

static void unfilter_bytes(int filter, unsigned char *row, const unsigned char *above, size_t size,
                           size_t step)
{
    for (size_t i = 0; i < size; i++) {
        const int left = (row - step)[i], up = above[i], corner = (above - step)[i];
        const int guess = filter == 1   ? left
                          : filter == 3 ? (left + up) / 2
                                        : nearest(left, up, corner);
        row[i] = (unsigned char)(row[i] + guess);
    }
}

bool cse_png_unfilter(int filter, unsigned char *row, const unsigned char *above, size_t size,
                      size_t step)
{
    if (filter < 0 || filter > 4)
        return false;
    if (filter == 2)
        add_above(row, above, size);
    else if (filter != 0 && (step < 3 || step > 4))
        unfilter_bytes(filter, row, above, size, step);
    else if (filter == 1)
        (step == 3 ? three_left : four_left)(row, size);
    else if (filter == 3)
        (step == 3 ? three_mean : four_mean)(row, above, size);
    else if (filter == 4)
        (step == 3 ? three_nearest : four_nearest)(row, above, size);
    return true;
}
