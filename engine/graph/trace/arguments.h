/* What the ops of engine/graph/ops share, beside what csengine/op.h offers to every op: rules of
 * reductions, checks of arguments, and C loops over strided tensors.
 *
 * So an op's file holds only what is particular to the op, and the same mistake gives the same
 * message everywhere. */
#ifndef CSE_TRACE_ARGUMENTS_H
#define CSE_TRACE_ARGUMENTS_H

#include "engine/base/types/shape.h"
#include "engine/graph/trace/trace.h"

/* Reduces inputs[0] over the axes of the node's attributes: accumulator = function(accumulator, x),
 * in double, in row-major order. */
void cse_reference_reduce(const cse_reference *call, double initial,
                          double (*function)(double, double));

/* Traces a REDUCE op over `axes` of x (negative: from the end; no axes: all). Its attributes:
 * integers[0] keep_dims, then the axes, ascending. Axes that repeat or lie outside fail. */
cse_tensor *cse_trace_reduce(const cse_op *op, cse_tensor *x, const int axes[], int axis_count,
                             bool keep_dims);
cse_status cse_infer_reduce(const cse_infer *in, cse_shape *shape, cse_dtype *dtype);
/* The input's shape with 1 for each reduced axis, whether or not the op kept them. */
cse_shape cse_reduce_kept_shape(const cse_tensor *node);
/* Loops of C for a REDUCE over any axes; `combine` is a statement on `accumulator` and `value`. */
void cse_emit_reduce(cse_text *out, const cse_tensor *node, const char *initial,
                     const char *combine);

/* `axis` counted from the end when negative, in [0, rank); -1 when outside. */
int cse_axis(int axis, int rank);

/* A shape as attributes from `first` on, and back. */
void cse_attributes_add_shape(cse_attributes *attributes, cse_shape shape);
cse_shape cse_attributes_shape(const cse_attributes *attributes, int first);

/* Fails with CSE_SHAPE where a size is negative or the elements are more than 2^44. */
cse_status cse_check_size(cse_shape shape);

/* One strided walk: element i of `shape` is read from source_offset + sum(i[k] * source_strides[k])
 * and written likewise. */
typedef struct cse_walk {
    cse_shape shape;
    int64_t source_offset, source_strides[CSE_MAX_RANK];
    int64_t target_offset, target_strides[CSE_MAX_RANK];
} cse_walk;

/* Advances to the next index in row-major order, and both positions; false after the last. */
bool cse_walk_advance(const cse_walk *walk, int64_t index[], int64_t *source, int64_t *target);

/* Splits the axes of a REDUCE op's input into those that stay (`outer`) and those that are reduced
 * (`inner`): the outer walk goes from the first input element of a sum to its output element. */
void cse_reduce_walks(const cse_tensor *node, cse_walk *outer, cse_walk *inner);

/* Copies elements of `element_bytes` along a walk. */
void cse_walk_copy(const cse_walk *walk, const void *source, void *target, size_t element_bytes);
/* The same as loops of C: `y[...] = <source>[...];`. */
void cse_walk_emit(cse_text *out, const cse_walk *walk, const char *source);

/* `value` as a constant of x's type, for ops like x + y with a plain number. */
cse_tensor *cse_constant_like(const cse_tensor *x, double value);

#endif
