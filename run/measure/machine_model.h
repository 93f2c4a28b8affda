/* What a step would take on a machine with many cores, from its work (step_work.h) and the rates of
 * the machine (machine_rates.h): a model, without measurement.
 *
 * R replicas, each bound to a core as placement.h places them; M microbatches, share = those of the
 * replica that has most; N partial sums, one for each node of the reduction tree that a replica
 * makes; k replicas on the memory that has most, c on the last cache that has most, p processes on
 * a core; S sockets with replicas.
 *
 *     bandwidth  = min(a core alone, a memory / k)
 *     unit       = max(p * amount / rate, bytes beyond a c-th of the cache / bandwidth)
 *     microbatch = all units, and its input, which is read on the same core
 *     compute    = once a step + share * microbatch + (share - its nodes) * 3 * sum / bandwidth;
 *                  at least what of the states comes from other sockets: bytes / link
 *     unequal    = the part of that by which the largest share is above M / R
 *     spread     = s * microbatch * sqrt(share) * sqrt(2 ln R): the latest of R replicas whose
 *                  microbatches vary by s (the expected maximum of R normal values)
 *     reduce     = (N * joined + reduced) / R / bandwidth, rounded up to whole chunks; at least
 *                  what comes from other sockets: N * joined * (S - 1) / S^2 / link
 *     serial     = bytes / rate: one process, all others wait
 *     update     = (bytes + (N - 1) * sums that UPDATE joins) / R / min(rate / p, bandwidth), in
 *                  whole chunks; likewise with the link
 *     turns      = stages * R * line + words * line: each process reads the step word when a stage
 *                  begins, one after another, and each word of the step once
 *
 * A line is passed between caches, sockets or within a cache, whichever is the farthest that the
 * replicas are apart. Partial sums and states are spread evenly over the memories of the replicas,
 * as arena_nodes.h lays them. Efficiencies:
 *
 *     strong     = step(1) / (R * step(R)), with M microbatches for both
 *     weak       = step(1) / step(R), with M for one and R * M for R */
#ifndef CSE_RUN_MEASURE_MACHINE_MODEL_H
#define CSE_RUN_MEASURE_MACHINE_MODEL_H

#include "run/measure/step_work.h"
#include "workers/placement/placement.h"

enum { CSE_MOST_PLANNED_REPLICAS = 512 };

/* Seconds; `compute` includes `input` and `unequal`. */
typedef struct cse_core_plan {
    int replicas;      /* at most one for each microbatch computes */
    int largest_share; /* microbatches */
    int sums;          /* N */
    double compute_s, input_s, unequal_s, spread_s, reduce_s, serial_s, update_s, turns_s;
    double step_s, samples_per_s;
    double strong, weak;
    /* What is computed once a step from the states (weights that are cast or packed), by each
     * replica for itself, and what of the step it would save to do it once for each memory. */
    double prepared_s, shared_saves_s;
    double memory_share, link_share; /* of their bandwidth while replicas compute */
} cse_core_plan;

/* Sentences for people: what the model takes for granted; ended by NULL. */
extern const char *const cse_machine_model_assumptions[];

/* For 1 to CSE_MOST_PLANNED_REPLICAS replicas. CSE_DATA where the machine has no rate for a kind of
 * the step's work, CSE_USAGE for more replicas than it has processors. */
cse_status cse_core_plan_make(const cse_step_work *work, const cse_machine_rates *rates,
                              const cse_processors *processors, int replicas, cse_core_plan *plan);

#endif
