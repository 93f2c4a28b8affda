/* Kernels of oneDNN: one primitive, its memory objects, and a copy of each operand for which oneDNN
 * chose another layout than the plain one; a reorder around the call refreshes the copy.
 *
 * The primitive may compute a part of a batch, and run once for each part, so that the copies are
 * small and stay in the cache.
 *
 * Everything is created once. A run only sets the data handles and executes; the copies and the
 * scratchpad lie in the memory that all kernels of the graph share. */
#ifndef CSE_KERNELS_DNNL_H
#define CSE_KERNELS_DNNL_H

#include <dnnl.h>

#include "engine/code/kernels/plan.h"

enum { CSE_DNNL_MOST_OPERANDS = 4, CSE_DNNL_OUTPUT = -1 };

/* One operand of the primitive. */
typedef struct cse_dnnl_operand {
    int argument; /* DNNL_ARG_SRC, ... */
    int input;    /* its place among the group's inputs; CSE_DNNL_OUTPUT for the result */
    dnnl_memory_desc_t plain;
    size_t step_bytes; /* from one part of the batch to the next; 0: the same for all */
} cse_dnnl_operand;

typedef struct cse_dnnl_call {
    const cse_kernel_plan *plan;
    const void *description;          /* dnnl_matmul_desc_t, dnnl_convolution_desc_t, ... */
    const_dnnl_primitive_desc_t hint; /* of the forward pass, for gradients; or NULL */
    cse_dnnl_operand operands[CSE_DNNL_MOST_OPERANDS];
    int operand_count;
    int64_t parts; /* of the batch: the primitive runs once for each; 0: as 1 */
    double flops;
} cse_dnnl_call;

/* The engine of the process: the CPU, one thread. CSE_UNAVAILABLE when the library does not start.
 */
cse_status cse_dnnl_engine(dnnl_engine_t *engine);

/* oneDNN's name of a type; dnnl_data_type_undef when it has none. */
dnnl_data_type_t cse_dnnl_type(cse_dtype dtype);

/* Fails with CSE_UNAVAILABLE, naming the group and oneDNN's status. */
cse_status cse_dnnl_check(const cse_kernel_plan *plan, dnnl_status_t status);

/* Makes the kernel of `call`. plan->relu is applied by a loop of ours afterwards, because oneDNN's
 * relu turns NaN into 0. */
cse_status cse_dnnl_kernel_new(const cse_dnnl_call *call, cse_kernel **kernel);

#endif
