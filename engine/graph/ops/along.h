/* What ops share that work along one axis: the input seen as [before, length, after]. */
#ifndef CSE_OPS_ALONG_H
#define CSE_OPS_ALONG_H

#include "engine/graph/op.h"
#include "engine/graph/trace/arguments.h"

/* `before`: the sizes before the axis multiplied; `length`: the axis; `after`: the sizes after it
 * multiplied. Element (i, j, k) stands at (i * length + j) * after + k. */
typedef struct cse_along {
    int64_t before, length, after;
} cse_along;

cse_along cse_along_axis(cse_shape shape, int64_t axis);

/* Traces `op` on x with its axis (negative: from the end) as integers[0] and `more` as
 * integers[1]. An axis outside fails in cse_infer_on_axis. */
cse_tensor *cse_trace_on_axis(const cse_op *op, cse_tensor *x, int axis, int64_t more);

/* The shape rule: the first input's shape and type; numbers, and the axis is one of its axes. */
cse_status cse_infer_on_axis(const cse_infer *in, cse_shape *shape, cse_dtype *dtype);

/* The shape rule of ops whose second input holds int32 indices along the axis: it has the first
 * input's rank, and its sizes but for the axis. */
cse_status cse_infer_indices_on_axis(const cse_infer *in);

#endif
