/* What elementwise ops share: the reference kernel, the common fields of their descriptors, and
 * common samples.
 *
 * An elementwise op computes each element of the output from the elements of the inputs at the same
 * place. Its own file holds only what differs: the public function with its doc comment, the
 * gradient, and the value of one element twice: as a C function in double (`unary` or `binary` of
 * the descriptor, for the reference kernel) and as an expression in float (for generated code). */
#ifndef CSE_OPS_ELEMENTWISE_H
#define CSE_OPS_ELEMENTWISE_H

#include "engine/graph/op.h"
#include "engine/graph/trace/arguments.h"

/* As cse_trace_2 after broadcasting both to their common shape. */
cse_tensor *cse_elementwise_2(const cse_op *op, cse_tensor *a, cse_tensor *b);

/* cse_reference_elementwise for an op whose function depends on its attributes. */
void cse_reference_unary(const cse_reference *call, double (*function)(double));
void cse_reference_binary(const cse_reference *call, double (*function)(double, double));

/* The gradient of minimum and maximum: all to the input for which `is_chosen` (cse_less or
 * cse_greater) holds against the other, half to each where they are equal. */
void cse_extremum_gradient(cse_tensor *node, cse_tensor *output_gradient, cse_tensor *gradients[],
                           cse_tensor *(*is_chosen)(cse_tensor *own, cse_tensor *other));

/* The shared fields of a descriptor, for its first line. */
#define CSE_UNARY                                                 \
    .kind = CSE_OP_ELEMENTWISE, .min_inputs = 1, .max_inputs = 1, \
    .reference = cse_reference_elementwise
#define CSE_BINARY                                                \
    .kind = CSE_OP_ELEMENTWISE, .min_inputs = 2, .max_inputs = 2, \
    .reference = cse_reference_elementwise
#define CSE_COMPARISON CSE_BINARY, .precision = CSE_FAMILY_NEUTRAL, .infer = cse_infer_comparison

#endif
