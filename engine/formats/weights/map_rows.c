/* Moving rows. */
#include "engine/formats/weights/map_rows.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"

/* A constant width makes each copy one instruction. `stride`: elements between rows of `to`. */
static inline __attribute__((always_inline)) void transpose(const unsigned char *from,
                                                            const int64_t sizes[2], size_t width,
                                                            int64_t stride, unsigned char *to)
{
    enum { TILE = 32 };
    const int64_t rows = sizes[0], columns = sizes[1];
    for (int64_t i = 0; i < rows; i += TILE)
        for (int64_t j = 0; j < columns; j += TILE)
            for (int64_t r = i; r < i + TILE && r < rows; r++)
                for (int64_t c = j; c < j + TILE && c < columns; c++)
                    memcpy(to + (size_t)(c * stride + r) * width,
                           from + (size_t)(r * columns + c) * width, width);
}

/* ---- words of 4 bytes, in vectors ---- */

enum { SQUARE = 4, LINE = 16 };
typedef uint32_t words __attribute__((vector_size(SQUARE * sizeof(uint32_t))));
#ifdef __clang__
#define SHUFFLE(x, y, ...) __builtin_shufflevector(x, y, __VA_ARGS__)
#else
#define SHUFFLE(x, y, ...) __builtin_shuffle(x, y, (words){ __VA_ARGS__ })
#endif

static inline words load(const uint32_t *from)
{
    words x;
    memcpy(&x, from, sizeof x);
    return x;
}

/* Four rows of four words; `columns` and `stride`: words between rows there and here. */
static inline void turn_square(const uint32_t *from, int64_t columns, int64_t stride, uint32_t *to)
{
    const words a = load(from), b = load(from + columns);
    const words c = load(from + 2 * columns), d = load(from + 3 * columns);
    const words ac_low = SHUFFLE(a, c, 0, 4, 1, 5), ac_high = SHUFFLE(a, c, 2, 6, 3, 7);
    const words bd_low = SHUFFLE(b, d, 0, 4, 1, 5), bd_high = SHUFFLE(b, d, 2, 6, 3, 7);
    const words turned[SQUARE] = {
        SHUFFLE(ac_low, bd_low, 0, 4, 1, 5),
        SHUFFLE(ac_low, bd_low, 2, 6, 3, 7),
        SHUFFLE(ac_high, bd_high, 0, 4, 1, 5),
        SHUFFLE(ac_high, bd_high, 2, 6, 3, 7),
    };
    for (int i = 0; i < SQUARE; i++)
        memcpy(to + i * stride, &turned[i], sizeof turned[i]);
}

/* Squares that fill whole cache lines of `to`, column by column of `from`; then what is left. */
static void transpose_words(const unsigned char *from, const int64_t sizes[2], int64_t stride,
                            unsigned char *to)
{
    const int64_t rows = sizes[0] / LINE * LINE, columns = sizes[1] / SQUARE * SQUARE;
    const uint32_t *source = (const uint32_t *)(const void *)from;
    uint32_t *target = (uint32_t *)(void *)to;
    for (int64_t r = 0; r < rows; r += LINE)
        for (int64_t c = 0; c < columns; c += SQUARE)
            for (int64_t i = r; i < r + LINE; i += SQUARE)
                turn_square(source + i * sizes[1] + c, sizes[1], stride, target + c * stride + i);
    for (int64_t r = 0; r < sizes[0]; r++)
        for (int64_t c = r < rows ? columns : 0; c < sizes[1]; c++)
            memcpy(target + c * stride + r, source + r * sizes[1] + c, sizeof *target);
}

void cse_map_transpose_into(const unsigned char *from, const int64_t sizes[2], size_t width,
                            int64_t stride, unsigned char *to)
{
    if (width == 4)
        transpose_words(from, sizes, stride, to);
    else if (width == 2)
        transpose(from, sizes, 2, stride, to);
    else
        transpose(from, sizes, width, stride, to);
}

void cse_map_transpose(const unsigned char *from, int64_t rows, int64_t columns, size_t width,
                       unsigned char *to)
{
    cse_map_transpose_into(from, (const int64_t[]){ rows, columns }, width, rows, to);
}

/* Rows of each head from [x0, x1, ..., y0, y1, ...] to [x0, y0, x1, y1, ...], or back. */
static void interleave(const cse_map_rows *all, bool back)
{
    const int64_t head = all->count / all->heads;
    const int64_t rotated = all->rotated > 0 ? all->rotated : head, half = rotated / 2;
    const size_t row_bytes = all->row_bytes;
    unsigned char *copy = cse_malloc((size_t)rotated * row_bytes + 1);
    for (int64_t h = 0; h < all->heads; h++) {
        unsigned char *begin = all->rows + (size_t)(h * head) * row_bytes;
        memcpy(copy, begin, (size_t)rotated * row_bytes);
        for (int64_t i = 0; i < rotated; i++) {
            const int64_t apart = i, paired = i < half ? 2 * i : 2 * (i - half) + 1;
            memcpy(begin + (size_t)(back ? apart : paired) * row_bytes,
                   copy + (size_t)(back ? paired : apart) * row_bytes, row_bytes);
        }
    }
    free(copy);
}

/* The first row becomes the last, or back. */
static void roll(unsigned char *rows, int64_t count, size_t row_bytes, bool back)
{
    unsigned char *one = cse_malloc(row_bytes + 1);
    const size_t rest = (size_t)(count - 1) * row_bytes;
    memcpy(one, rows + (back ? rest : 0), row_bytes);
    memmove(rows + (back ? row_bytes : 0), rows + (back ? 0 : row_bytes), rest);
    memcpy(rows + (back ? 0 : rest), one, row_bytes);
    free(one);
}

void cse_map_arrange(const cse_map_rows *rows, bool back)
{
    if (rows->count > 0 && rows->heads > 0)
        interleave(rows, back);
    if (rows->count > 0 && rows->is_rolled)
        roll(rows->rows, rows->count, rows->row_bytes, back);
}
