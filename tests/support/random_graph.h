/* Random step graphs: elementwise ops, reductions, broadcasts, reshapes, transposes and products
 * over a few related shapes, with states that are updated elementwise. Values stay near [-2, 2]. */
#ifndef CSE_TESTS_SUPPORT_RANDOM_GRAPH_H
#define CSE_TESTS_SUPPORT_RANDOM_GRAPH_H

#include "tests/support/compiled_graph.h"

/* The same graph for the same seed, before any pass. */
cse_graph *random_graph_new(uint64_t seed, int nodes);

/* Fills inputs and states with values from the seed. */
void random_graph_fill(const cse_graph *graph, const fixture_memory *memory, uint64_t seed);

#endif
