/* Walks over long tables of the run store, one row at a time: numbers of observed steps, points of
 * a series. Where a run was resumed, a step that was done again is shown as the last attempt did
 * it. */
#ifndef CSE_STORE_CURSOR_H
#define CSE_STORE_CURSOR_H

#include "store/reader.h"

typedef struct cse_cursor cse_cursor;

/* A tensor at an observed step: a row of `numerics` with its row of `tensors`. Texts and blobs are
 * borrowed until the next row. */
typedef struct cse_numbers {
    int64_t step, tensor, attempt;
    const char *name, *scope, *op, *kind, *source_dtype, *dtype, *file; /* file may be NULL */
    bool backward;
    int line;
    int64_t count, nan, inf, saturated, flushed, zeros, absorbed;
    int64_t max_exponent, first_microbatch; /* -1: none */
    const unsigned char *digest;            /* 8 bytes; NULL: none */
    const unsigned char *histogram;         /* 8 bytes a bin, the least first */
    int bins;
} cse_numbers;

typedef struct cse_numbers_query {
    int64_t first_step, last_step; /* last_step 0: to the end */
    bool nonfinite;                /* rows with a NaN or an infinity alone */
    bool histograms;               /* else bins is 0 */
} cse_numbers_query;

/* By step, within a step in the order of execution. The caller closes the cursor. */
cse_status cse_cursor_numbers(cse_store_reader *reader, const cse_numbers_query *query,
                              cse_cursor **cursor);
cse_status cse_cursor_next_numbers(cse_cursor *cursor, cse_numbers *numbers, bool *found);

/* Points of a series by step. A value that is not a number is NaN. */
cse_status cse_cursor_points(cse_store_reader *reader, const char *series, cse_cursor **cursor);
cse_status cse_cursor_next_point(cse_cursor *cursor, cse_point *point, bool *found);

void cse_cursor_close(cse_cursor **cursor);

/* Where numbers ceased to be finite: of the first observed step that has such, the first tensor in
 * the order of execution among those of the least microbatch, since what it was computed from had
 * been counted before it. Texts of `first` are in `texts`, for the caller to clear. */
cse_status cse_reader_first_nonfinite(cse_store_reader *reader, cse_numbers *first, cse_text *texts,
                                      bool *found);

#endif
