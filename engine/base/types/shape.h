/* Shapes: sizes, row-major strides, and NumPy's broadcasting rule. */
#ifndef CSE_TYPES_SHAPE_H
#define CSE_TYPES_SHAPE_H

#include "csengine/tensor.h"

/* Row-major strides in elements. */
void cse_shape_strides(cse_shape shape, int64_t strides[CSE_MAX_RANK]);

/* The common shape of `a` and `b` when dimensions are aligned at the right and a size of 1 is
 * repeated; false when they do not fit. */
bool cse_shape_broadcast(cse_shape a, cse_shape b, cse_shape *result);

/* Strides with which a tensor of shape `from` is read as if it had shape `to`: 0 where it
 * is repeated. */
void cse_shape_broadcast_strides(cse_shape from, cse_shape to, int64_t strides[CSE_MAX_RANK]);

#endif
