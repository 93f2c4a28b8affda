/* Cursors over long tables of the run store, one row at a time: tensor statistics, points of a
 * series. Where a resumed run repeated a step, only the rows of the last attempt are returned. */
#ifndef CSE_STORE_CURSOR_H
#define CSE_STORE_CURSOR_H

#include "store/reader.h"

typedef struct cse_cursor cse_cursor;

/* The statistics of a tensor at one step: a row of `numerics` with its row of `tensors`. Texts and
 * blobs are borrowed until the next row. */
typedef struct cse_numbers {
    int64_t step, tensor, attempt;
    const char *name, *scope, *op, *kind, *source_dtype, *dtype, *file; /* file may be NULL */
    bool backward;
    int line;
    int64_t count, nan, inf, saturated, flushed, zeros, absorbed;
    int64_t max_exponent, first_microbatch; /* -1: none */
    const unsigned char *digest;            /* 8 bytes; NULL: none */
    const unsigned char *histogram;         /* 8 bytes per bin, the lowest first */
    int bins;
} cse_numbers;

typedef struct cse_numbers_query {
    int64_t first_step, last_step; /* last_step 0: to the end */
    bool nonfinite;                /* only rows with a NaN or an infinity */
    bool histograms;               /* false: bins is 0 */
} cse_numbers_query;

/* By step, within a step in the order of execution. The caller closes the cursor. */
cse_status cse_cursor_numbers(cse_store_reader *reader, const cse_numbers_query *query,
                              cse_cursor **cursor);
cse_status cse_cursor_next_numbers(cse_cursor *cursor, cse_numbers *numbers, bool *found);

/* Points of a series by step. A value that is not a number is NaN. */
cse_status cse_cursor_points(cse_store_reader *reader, const char *series, cse_cursor **cursor);
/* Those that an attempt has behind a step. */
cse_status cse_cursor_new_points(cse_store_reader *reader, const char *series, int64_t attempt,
                                 int64_t after_step, cse_cursor **cursor);
cse_status cse_cursor_next_point(cse_cursor *cursor, cse_point *point, bool *found);
/* The attempt that the point is of which was found last. */
int64_t cse_cursor_point_attempt(const cse_cursor *cursor);

void cse_cursor_close(cse_cursor **cursor);

/* The first tensor with a NaN or an infinity: of the first step that has one, in the lowest
 * microbatch, the first in the order of execution, so that its own inputs were finite. The texts of
 * `first` are stored in `texts`, which the caller clears. */
cse_status cse_reader_first_nonfinite(cse_store_reader *reader, cse_numbers *first, cse_text *texts,
                                      bool *found);

#endif
