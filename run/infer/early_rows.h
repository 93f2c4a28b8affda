/* Rows of a value of which few are wanted, such as the logits of a prompt's last token: what is
 * computed row by row is computed for those rows alone. Their bits are those of the whole. */
#ifndef CSE_RUN_INFER_EARLY_ROWS_H
#define CSE_RUN_INFER_EARLY_ROWS_H

#include "csengine/op.h"

/* While tracing: rows `indices` [count] of `x` [rows, columns]: [count, columns]. */
cse_tensor *cse_rows_early(cse_tensor *x, cse_tensor *indices);

#endif
