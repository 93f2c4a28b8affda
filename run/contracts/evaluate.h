/* Values of a graph's nodes by the ops' reference kernels alone: a recursive evaluator that needs
 * no pass and no plan, so that an op, a gradient rule or an optimizer can be tested as it is
 * traced. */
#ifndef CSE_RUN_CONTRACTS_EVALUATE_H
#define CSE_RUN_CONTRACTS_EVALUATE_H

#include "engine/graph/graph.h"

typedef struct cse_evaluation cse_evaluation;

/* `graph` is borrowed and may grow while it is evaluated. `seed` and `step` are what random ops and
 * step_number see; sample_index counts from `first_sample`. */
cse_evaluation *cse_evaluation_new(cse_graph *graph, uint64_t seed, int64_t step,
                                   int64_t first_sample);
void cse_evaluation_destroy(cse_evaluation **self);

/* Gives a leaf (input or state) its values, which are copied; what was computed is forgotten. */
void cse_evaluation_set(cse_evaluation *self, const cse_node *leaf, const void *values);

/* The node's values, computed now or before; borrowed until the next cse_evaluation_set. Composites
 * are computed by their reference kernels; batch_sum is the identity (one microbatch). A leaf that
 * was not set ends the process. */
const void *cse_evaluation_values(cse_evaluation *self, cse_node *node);

#endif
