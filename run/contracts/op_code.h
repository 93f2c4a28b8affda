/* The code of an op, compiled, against its reference kernel. */
#ifndef CSE_RUN_CONTRACTS_OP_CODE_H
#define CSE_RUN_CONTRACTS_OP_CODE_H

#include "run/contracts/contract.h"

/* All samples of the op in one graph, in float32 and in each 16-bit format that its shape rule
 * takes; one check a format. The engine's own ops are compiled together by a test. */
void cse_contract_op_code(cse_contract *contract, const cse_op *op);

/* Samples of any ops, with their floats in one format, compiled together. */
typedef struct cse_op_trial cse_op_trial;

/* The format by number: 0 float32, then the 16-bit ones; CSE_DTYPE_COUNT behind the last. */
cse_dtype cse_op_trial_format(int format);
cse_op_trial *cse_op_trial_new(int format);
/* Adds those samples of the op that its shape rule takes in the format. Returns their number. */
int cse_op_trial_add(cse_op_trial *trial, const cse_op *op, const cse_op_sample *samples);
/* Compiles what was added, once, without the passes in `disable` (NULL: with all), in `folder`, and
 * compares it with the reference kernels. CSE_DATA names the sample and the element. */
cse_status cse_op_trial_run(cse_op_trial *trial, const char *disable, const char *folder);
void cse_op_trial_destroy(cse_op_trial **trial);

#endif
