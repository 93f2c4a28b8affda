/* Gradients that are complete before the program of a microbatch ends.
 *
 * A gradient takes longer to send to another host than to compute, so that what the first groups of
 * the backward pass have made travels while the others run. The memory plan places sums in the
 * order of the groups that complete them, so that what is final is a prefix.
 *
 * The process that computes the last microbatch of a node tells here how many elements of the
 * node's partial sum are final. It tells for its claim: when it dies, the next one to claim the
 * node begins at zero. Its values are the same, so what was sent stays right, but the bytes change
 * meanwhile: a reader looks at the claim again after it has read. */
#ifndef CSE_WORKERS_ARENA_FINAL_ELEMENTS_H
#define CSE_WORKERS_ARENA_FINAL_ELEMENTS_H

#include "workers/arena/layout.h"

/* final[g], for each group g of the graph: elements [0, final[g]) of a microbatch gradient change
 * no more when g has run. */
void cse_final_elements(const cse_graph *graph, int64_t final[]);

/* By the claimer of a node, before it writes to the partial sum: none are final. */
void cse_final_elements_begin(const cse_cluster *cluster, cse_tree_node node);
/* By the claimer, when elements [0, count) are written. */
void cse_final_elements_tell(const cse_cluster *cluster, cse_tree_node node, int64_t count);

/* The claim under which elements [0, end) of the node's partial sum are final at `sequence`, while
 * it is computed; 0: they are not. */
uint64_t cse_final_elements_claim(const cse_cluster *cluster, cse_tree_node node, int64_t sequence,
                                  int64_t end);
/* Whether what was read since then is what that claimer had told of. */
bool cse_final_elements_unchanged(const cse_cluster *cluster, cse_tree_node node, uint64_t claim);

#endif
