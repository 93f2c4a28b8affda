/* What the ops on rows share: softmax, cross entropy and layer norm treat the last axis of their
 * input as rows, and expand into reductions over it and broadcasts back, which fuse into one loop a
 * row. */
#ifndef CSE_OPS_ROWS_H
#define CSE_OPS_ROWS_H

#include "engine/graph/trace/arguments.h"

/* Elements of the last axis, and how many rows there are (a scalar is one row of one). */
int64_t cse_row_length(cse_shape shape);
int64_t cse_row_count(cse_shape shape);

/* Reductions over the last axis that keep it as a size of 1. */
cse_tensor *cse_row_sum(cse_tensor *x);
cse_tensor *cse_row_max(cse_tensor *x);

/* The shape rule of an op on rows of floats that keeps the shape. */
cse_status cse_infer_rows(const cse_infer *in, cse_shape *shape, cse_dtype *dtype);

/* Traces `op`, which works on the last axis, along `axis`: transposes it to the end and back. */
cse_tensor *cse_trace_along(const cse_op *op, cse_tensor *x, int axis);

/* Reads row `row` of input 0 and gives its maximum and the sum of exp(x - maximum). */
void cse_reference_row(const cse_reference *call, int64_t row, double *maximum, double *sum);

#endif
