/* Moving rows. */
#include "engine/formats/weights/map_rows.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"

/* A constant width makes each copy one instruction. */
static inline __attribute__((always_inline)) void
transpose(const unsigned char *from, const int64_t sizes[2], size_t width, unsigned char *to)
{
    enum { TILE = 32 };
    const int64_t rows = sizes[0], columns = sizes[1];
    for (int64_t i = 0; i < rows; i += TILE)
        for (int64_t j = 0; j < columns; j += TILE)
            for (int64_t r = i; r < i + TILE && r < rows; r++)
                for (int64_t c = j; c < j + TILE && c < columns; c++)
                    memcpy(to + (size_t)(c * rows + r) * width,
                           from + (size_t)(r * columns + c) * width, width);
}

void cse_map_transpose(const unsigned char *from, int64_t rows, int64_t columns, size_t width,
                       unsigned char *to)
{
    const int64_t sizes[2] = { rows, columns };
    if (width == 4)
        transpose(from, sizes, 4, to);
    else if (width == 2)
        transpose(from, sizes, 2, to);
    else
        transpose(from, sizes, width, to);
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
