/* The cut of a step's microbatches over the hosts with the least modelled step time.
 *
 * A host computes its range from left to right and sends a piece to every other host as soon as it
 * is complete, one piece after the other. What the step waits for is the host whose last piece is
 * sent last:
 *
 *     link    L = (hosts - 1) * piece_bytes / the slowest link
 *     compute W(n) = ceil(n / replicas) * microbatch_s
 *     host    max over its pieces i of 1..k: W(microbatches up to the end of i) + (k - i + 1) * L
 *     step    max over hosts
 *
 * Several replicas of a host compute all its pieces at the same time, so that no piece is complete
 * before its end: there the host takes W(n) + k * L. The slowest link counts for all, since each
 * host sends to each other one; links are full duplex, and no host receives more than the one that
 * sends most would send at this rate. A host with no microbatches sends nothing.
 *
 * Where three or more hosts exchange shards of their pieces (workers/arena/shards.h), each sends a
 * smaller part of a piece: run/measure/host_model.c gives `piece_bytes` accordingly, and adds what
 * comes after the last piece.
 *
 * More pieces make shares more even, fewer pieces send less; dynamic programming over the bounds
 * finds the best. The cut is no part of the result, so it may be planned anew for any step. */
#ifndef CSE_WORKERS_HOSTS_PLANNED_CUT_H
#define CSE_WORKERS_HOSTS_PLANNED_CUT_H

#include "workers/hosts/host_cut.h"

typedef struct cse_cut_options {
    int microbatches, host_count;
    cse_host_set present;               /* hosts that get microbatches, where it is of use */
    int replicas;                       /* of each host; 0 counts as 1 */
    double microbatch_s[CSE_MAX_HOSTS]; /* of one replica; above 0 for those that are present */
    double bytes_per_s[CSE_MAX_HOSTS];  /* in each direction; 0: sending takes no time */
    double piece_bytes;                 /* of one node of the tree, on the wire */
    /* 0: the least step time, and of the cuts with that time the one with the fewest pieces. Above:
     * the fewest pieces of all cuts that take at most (1 + tolerance) times as long, and of those
     * the least time. */
    double tolerance;
} cse_cut_options;

/* Plans the cut (its first_step is 0) and returns its modelled time in seconds. Exact up to 4096
 * microbatches, unless the hosts differ so much that it would take too long; then, and above,
 * bounds lie at multiples of a small power of two. */
double cse_host_cut_plan(const cse_cut_options *options, cse_host_cut *cut);

/* The modelled time of any cut. */
double cse_host_cut_seconds(const cse_cut_options *options, const cse_host_cut *cut);
/* When the host has computed its share, and when its last piece is sent; 0 with no microbatches. */
double cse_host_compute_seconds(const cse_cut_options *options, const cse_host_cut *cut, int host);
double cse_host_sent_seconds(const cse_cut_options *options, const cse_host_cut *cut, int host);
/* L above. */
double cse_host_piece_seconds(const cse_cut_options *options);

#endif
