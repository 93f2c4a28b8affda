/* The values of a step that a replay has kept (replays.h): parts of one tensor as a matrix, for
 * pictures, as a file, and in figures. */
#ifndef CSE_DASHBOARD_REPLAYS_STEP_VALUES_H
#define CSE_DASHBOARD_REPLAYS_STEP_VALUES_H

#include <jansson.h>

#include "engine/base/text.h"
#include "run/travel/tensor_file.h"

enum { CSE_ALL_OF_IT = -1 };

typedef struct cse_value_choice {
    const char *tensor;
    /* The tensor seen in another shape of as many elements, as heads in a dimension of their own;
     * rank 0: in its own. */
    cse_shape shape;
    /* Of each dimension an index, or CSE_ALL_OF_IT; none: all of all. */
    int64_t at[CSE_MAX_RANK];
    int at_count;
} cse_value_choice;

/* What was chosen; the last of its dimensions are its columns, all others its rows. */
typedef struct cse_value_part {
    const unsigned char *values; /* of the tensor, float32 or int32 */
    cse_dtype dtype;
    cse_shape shape; /* of the dimensions that stayed */
    int64_t strides[CSE_MAX_RANK], first;
    int64_t rows, columns;
} cse_value_part;

/* CSE_NO_INPUT: there is no such tensor; CSE_USAGE: it has no such shape or index. */
cse_status cse_value_part_choose(const cse_tensor_map *map, const cse_value_choice *choice,
                                 cse_value_part *part);

/* A window of it, in at most so many cells: each is that value of its rows and columns that is
 * largest without its sign, NaN where there is one. */
typedef struct cse_value_window {
    int64_t row, rows, column, columns; /* rows, columns 0: up to the end */
    int64_t most_rows, most_columns;
} cse_value_window;
/* As float32, little endian, row after row. CSE_USAGE: the window lies outside. */
cse_status cse_value_part_cells(const cse_value_part *part, const cse_value_window *window,
                                cse_text *cells);

/* An array of NumPy (.npy). CSE_USAGE: it has more than `most` bytes. */
cse_status cse_value_part_npy(const cse_value_part *part, int64_t most, cse_text *npy);

/* {elements, zeros, nan, inf, min, max, mean, std, bins, lowest, negative, positive}: see the
 * route. */
json_t *cse_value_part_histogram(const cse_value_part *part);

#endif
