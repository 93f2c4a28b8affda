/* What a training would do on several hosts, from the profile of one: a model, without measurement.
 *
 * Every host holds the whole state. It computes its share of the step's microbatches, sends the
 * pieces of its share to the other hosts, and does the rest of the step by itself. With R replicas
 * on each of H hosts, shares cut by workers/hosts/planned_cut.h (whose head has the formulas of the
 * time until a piece is sent), B bytes a piece:
 *
 *     compute   = max over hosts of ceil(share / R) * time of a microbatch
 *     exposed   = max over hosts of (when its last piece is sent) - hidden + joined - compute
 *     step      = compute + exposed + update / R
 *
 * A piece is sent from the moment on at which its first elements are final, in the last microbatch
 * of its node. P is the time that sending the last piece and the joined stripes takes. With n - 1
 * sixteenths of that sent, sixteenth n cannot leave before it is final, which is `early[n - 1]` of
 * a microbatch before the node's end:
 *
 *     hidden    = P - max over n = 1..16 of ((17 - n) / 16 * P - early[n - 1] * microbatch)
 *
 * A link that is busy with a piece sends the next one in P from then on, so that of a host with
 * several pieces as much is hidden as of one.
 *
 * With n of the H hosts that have microbatches, what is sent a host (workers/arena/shards.h):
 *
 *     n <= 2    up = pieces * (H - 1) * B                       down = pieces of all others * B
 *     n >= 3    up = pieces * B * (n - 1) / n + B * (H - 1) / n  down = (those + n - 1) * B / n
 *
 * The second term, the joined stripes, is sent as the last pieces are. For each n the planned
 * cut is tried, equal shares rounded to powers of two, and a node of the tree for each host; the
 * one with the least step is taken.
 *
 *     memory    = arena without partial sums + R processes + sums of its nodes, others' pieces
 *     goodput   = 1 / (1 + saves) * 1 / (1 + losses)
 *       saves   = pause of a save / (steps between two saves * step)
 *       losses  = H / (mean time between failures of a host) * (lease + one step)
 *     rate      = samples of a step / step * goodput
 *     cost      = H / rate * 10^6 / 3600 host-hours a million samples
 *
 * A lost host costs the lease, until it is known to be lost, and one step, in which the others
 * compute its share, too. A single host has nobody who goes on: it loses half of the steps between
 * two saves and one more; without saves between, its goodput is not known. */
#ifndef CSE_RUN_MEASURE_HOST_MODEL_H
#define CSE_RUN_MEASURE_HOST_MODEL_H

#include "workers/hosts/planned_cut.h"

/* The part of what a link carries that is payload: TCP, IPv4 with time stamps in Ethernet frames
 * of 1500 bytes, of which 52 are heads; 38 stand around them (head, checksum, preamble, gap). */
#define CSE_LINK_PAYLOAD ((1500.0 - 52) / (1500 + 38))

enum { CSE_HOST_PIECE_PARTS = 16 };

/* One host, with one replica on one core. */
typedef struct cse_host_profile {
    int64_t microbatches, micro_batch_size;
    double microbatch_s; /* forward, backward and its part of the sums */
    double update_s;     /* what is left of the step: sums, norm, update */
    double save_s;       /* how long the steps wait while a checkpoint is copied */
    int64_t save_steps;  /* between two saves; 0: only at the end */
    int64_t rounded_elements, exact_elements; /* of a piece: 2 and 4 bytes each */
    int64_t arena_bytes;                      /* without partial sums */
    int64_t partial_sum_bytes, process_bytes;
    /* How long before the end of a microbatch so many parts of its gradient are final, as a share
     * of its time: descending, the last one 0. All 0: only at the end. */
    double early[CSE_HOST_PIECE_PARTS];
} cse_host_profile;

typedef struct cse_host_plan_options {
    int hosts, replicas;
    double bytes_per_s; /* of each host's link, in each direction: payload */
    double failure_s;   /* mean time between failures of a host; 0: they do not fail */
    double lease_s;
} cse_host_plan_options;

typedef struct cse_host_plan {
    cse_host_cut cut;
    int pieces;                       /* of all hosts, a step */
    int largest_share, working_hosts; /* hosts with microbatches */
    double compute_s, exposed_s, update_s, step_s;
    double bytes_up, bytes_down; /* a step, of the host that has most */
    double memory_bytes;         /* of the host that has most */
    double goodput;              /* share of the time; NaN: not known */
    double samples_per_s;        /* with the goodput; NaN likewise */
    double host_hours;           /* a million samples */
} cse_host_plan;

double cse_host_piece_bytes(const cse_host_profile *profile);
void cse_host_plan_make(const cse_host_profile *profile, const cse_host_plan_options *options,
                        cse_host_plan *plan);

/* What the model takes for granted, a sentence each; ended by NULL. */
extern const char *const cse_host_model_assumptions[];

#endif
