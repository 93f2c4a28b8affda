/* Rows of a weight of another program in the order that they have here, and back. */
#ifndef CSE_WEIGHTS_MAP_ROWS_H
#define CSE_WEIGHTS_MAP_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rows become columns; `width` is the bytes of an element. */
void cse_rows_transpose(const unsigned char *from, int64_t rows, int64_t columns, size_t width,
                        unsigned char *to);

/* Rows of a weight by heads, of each of which the first `rotated` are rotated. */
typedef struct cse_headed_rows {
    unsigned char *rows;
    int64_t count, heads, rotated;
    size_t row_bytes;
} cse_headed_rows;

/* Rows of each head from [x0, x1, ..., y0, y1, ...] to [x0, y0, x1, y1, ...], or back. */
void cse_rows_interleave(const cse_headed_rows *all, bool back);
/* The first row becomes the last, or back. */
void cse_rows_roll(unsigned char *rows, int64_t count, size_t row_bytes, bool back);

#endif
