/* What the ops that read packed weights share: a weight is int32 [rows, words], as
 * engine/base/types/packed/packed_rows.h lays it out. Their first integers are the number of the
 * packed type and the columns of the matrix. */
#ifndef CSE_OPS_PACKED_WEIGHT_H
#define CSE_OPS_PACKED_WEIGHT_H

#include "engine/base/types/packed/packed_rows.h"
#include "engine/graph/op.h"

enum { CSE_PACKED_NUMBER, CSE_PACKED_COLUMNS, CSE_PACKED_INTEGERS };

/* Whether input `input` is a matrix of the type and columns that the attributes say. CSE_SHAPE. */
cse_status cse_packed_weight_check(const cse_infer *in, int input);
const cse_packed_type *cse_packed_weight_type(const cse_tensor *node);
/* All values of row `row` of a weight, as the node's attributes say. */
void cse_packed_weight_row(const cse_tensor *node, const void *weight, int64_t row, float *values);

#endif
