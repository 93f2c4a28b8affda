/* Sums of gradients that are cut over the hosts of a run: which elements of the other hosts'
 * pieces a host is sent, and has memory for.
 *
 * A host updates its own chunks alone (state_ranges.h), so of each gradient it needs the sums that
 * these read, and what REDUCE joins for the serial program. It joins them along the tree from the
 * pieces of all hosts, as every host would: the same bits. Nobody joins the whole.
 *
 *     by parts     each host has the elements of its chunks. Nothing else is sent.
 *     by stripes   the serial program reads most gradients, as the norm of all does: each host
 *                  needs all joined sums. They are exchanged as on hosts that cut nothing
 *                  (shards.h), but there is memory for the own stripes of others' pieces alone,
 *                  until a host is lost.
 *
 * Which it is, and the elements, follow from the graph and stand in the arena, since a mover has no
 * graph. A piece that came in parts is complete for its receiver alone. */
#ifndef CSE_WORKERS_ARENA_GRADIENT_RANGES_H
#define CSE_WORKERS_ARENA_GRADIENT_RANGES_H

#include "workers/arena/layout.h"
#include "workers/arena/residency.h"
#include "workers/arena/stripes.h"

/* By parts: the ranges of elements that a host of the run needs, in ascending order; one at least,
 * which may be empty. `items`: NULL, or room for them. Returns how many there are. */
int cse_gradient_ranges_find(const cse_graph *graph, const cse_arena_head *head,
                             const cse_host_set *owners, int host, cse_element_range *items);

/* What a host is sent of each piece, where pieces are not exchanged in shards. */
cse_stripes cse_sent_elements(const cse_cluster *cluster, int host);

/* Whole pages of a partial sum in which these elements lie, as bytes from its start: *spans, to be
 * freed, in ascending order. Returns how many there are. */
int cse_sent_pages(const cse_segments *segments, const cse_stripes *sent, cse_byte_range **spans);

#endif
