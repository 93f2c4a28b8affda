/* A graph in a compact binary form, for the processes that run it and for the key of a compiled
 * step. It holds everything that a graph does, except where the model's code called: lines of
 * source change without changing what is computed. A node names its call by a number in a list
 * that the traced graph gives, so that a plan that is found again speaks of the lines as they
 * are now. */
#ifndef CSE_GRAPH_PACK_H
#define CSE_GRAPH_PACK_H

#include "engine/graph/graph.h"
#include "engine/graph/packing.h"

/* The different places of source that the nodes of a graph come from, in the order of the nodes. */
typedef struct cse_calls cse_calls;

cse_calls *cse_calls_new(const cse_graph *graph);
void cse_calls_destroy(cse_calls **calls);

/* Writes the graph; `calls` are those of the graph that it was traced as. */
void cse_graph_pack(const cse_graph *graph, const cse_calls *calls, cse_text *out);

/* Reads a graph, which is verified: every index is in its table, every shape follows from its op's
 * rule, every stored value lies in its space. `calls` may be NULL: the nodes then name no place of
 * source. Fails with CSE_DATA. */
cse_status cse_graph_unpack(cse_unpacker *from, const cse_calls *calls, cse_graph **graph);

#endif
