/* Which value of one step graph is which of another one. Names alone do not tell: values of one op
 * are numbered in the order of execution, which a setting changes that has no effect on them. */
#ifndef CSE_RUN_TRAVEL_VALUE_PAIRS_H
#define CSE_RUN_TRAVEL_VALUE_PAIRS_H

#include "engine/graph/graph.h"
#include "run/measure/run_comparison.h"

/* Pairs the tracked values, but for states and gradients, whose names tell: where the same ops
 * compute them from the same names; those that are left by scope and op, in the order of
 * execution. Values of other shapes and of microbatches of other sizes cannot be compared and have
 * no partner. Names and lists are in `arena`. */
cse_compared_names cse_value_pairs_find(cse_graph *const graphs[CSE_COMPARED_RUNS],
                                        cse_arena *arena);

/* Of the steps that the runs in two folders have compiled; false: one is not there any more. */
bool cse_value_pairs_of_runs(const char *const folders[CSE_COMPARED_RUNS], cse_arena *arena,
                             cse_compared_names *pairs);

#endif
