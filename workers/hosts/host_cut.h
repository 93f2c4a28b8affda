/* Which host computes which microbatches of a step.
 *
 * The cut is no part of the result: the reduction tree gives the same bits for any. What it decides
 * is how much each host computes and sends. Each host has one contiguous range, and sends the
 * largest nodes of the tree that lie in it, its pieces, each as large as all gradients together; so
 * a cut at the tree's own boundaries sends less. A host with no microbatches takes part as well: it
 * has the states, and may get some later. */
#ifndef CSE_WORKERS_HOSTS_HOST_CUT_H
#define CSE_WORKERS_HOSTS_HOST_CUT_H

#include <stdint.h>

#include "csengine/status.h"
#include "workers/hosts/host_set.h"

typedef struct cse_host_cut {
    int64_t first_step; /* the first step that is cut this way */
    int32_t host_count; /* places; some of them may be empty */
    /* Host h has microbatches [bounds[h], bounds[h + 1]); bounds[host_count] is their number. */
    int32_t bounds[CSE_MAX_HOSTS + 1];
} cse_host_cut;

/* Equal shares (as far as the number allows) for the hosts of `present`, in the order of
 * their numbers; the others get none. */
void cse_host_cut_even(int microbatches, int host_count, const cse_host_set *present,
                       cse_host_cut *cut);

/* Host that has the microbatch. */
int cse_host_cut_of(const cse_host_cut *cut, int microbatch);

/* How many pieces the host sends: nodes of the reduction tree that cover its range. */
int cse_host_cut_pieces(const cse_host_cut *cut, int host);

#endif
