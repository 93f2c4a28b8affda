/* The code of an op, compiled, against its reference kernel. */
#ifndef CSE_RUN_CONTRACTS_OP_CODE_H
#define CSE_RUN_CONTRACTS_OP_CODE_H

#include "run/contracts/contract.h"

/* All samples of the op in one graph, in float32 and in each 16-bit format that its shape rule
 * takes; one check a format. The engine's own ops are compiled together by a test. */
void cse_contract_op_code(cse_contract *contract, const cse_op *op);

#endif
