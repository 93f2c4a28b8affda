/* The orders in which rows of one weight stand in files of others and here: elements or blocks of
 * any size, moved as bytes. */
#ifndef CSE_WEIGHTS_MAP_ROWS_H
#define CSE_WEIGHTS_MAP_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* [rows, columns] of elements of `width` bytes to [columns, rows]. */
void cse_map_transpose(const unsigned char *from, int64_t rows, int64_t columns, size_t width,
                       unsigned char *to);
/* The same of rows that are some of a whole's: `sizes` are rows and columns of `from`, `stride` the
 * elements of a row of `to`, which is where the first of them goes. */
void cse_map_transpose_into(const unsigned char *from, const int64_t sizes[2], size_t width,
                            int64_t stride, unsigned char *to);

typedef struct cse_map_rows {
    unsigned char *rows;
    int64_t count;
    size_t row_bytes;
    int64_t heads;   /* that they belong to, if these are rotated; 0: they are not */
    int64_t rotated; /* of a head, its first rows; 0: all */
    bool is_rolled;  /* their first row is our last */
} cse_map_rows;

/* From their order to ours, or back. */
void cse_map_arrange(const cse_map_rows *rows, bool back);

#endif
