/* The formulas of the header, in its order. */
#include "run/measure/machine_model.h"

#include <math.h>
#include <stdlib.h>

#include "engine/base/arena.h"
#include "workers/hosts/reduction_tree.h"

const char *const cse_machine_model_assumptions[] = {
    "each replica is bound to a core of its own, alone on the machine; input is read on the same "
    "core, one input worker for each replica",
    "a core has the rate of the file however many compute, so that the file's rates are those of "
    "all cores together: clocks fall when many compute",
    "values larger than a replica's part of the last cache come from memory each time, others "
    "never; bandwidth is shared evenly, and moving bytes and computing overlap within a unit",
    "partial sums and states lie evenly over the memories of the replicas",
    "hardware threads of one core add nothing to its rate",
    "words of the step are read one after another, without overlap",
    NULL,
};

/* How the replicas lie on the machine, and what each has of it. */
typedef struct share_of_machine {
    int on_memory, on_cache, on_core, sockets, memories; /* see the header */
    double bandwidth, cache_bytes, line_s;
} share_of_machine;

static void count_places(const cse_processors *processors, const cse_placement *placement,
                         share_of_machine *share)
{
    int *counts = cse_calloc(4 * ((size_t)processors->count + 1), sizeof *counts);
    int *of_memory = counts, *of_cache = counts + processors->count,
        *of_core = counts + 2 * processors->count, *of_socket = counts + 3 * processors->count;
    for (int r = 0; r < placement->replicas; r++) {
        const cse_processor *p = cse_placement_processor(processors, placement, r);
        const int memory = ++of_memory[p->memory], cache = ++of_cache[p->cache],
                  core = ++of_core[p->core];
        share->memories += memory == 1;
        share->sockets += ++of_socket[p->socket] == 1;
        share->on_memory = memory > share->on_memory ? memory : share->on_memory;
        share->on_cache = cache > share->on_cache ? cache : share->on_cache;
        share->on_core = core > share->on_core ? core : share->on_core;
    }
    free(counts);
}

static share_of_machine share_of(const cse_machine_rates *rates, const cse_processors *processors,
                                 int replicas)
{
    share_of_machine share = { .on_memory = 0 };
    cse_placement placement;
    cse_placement_make(processors, (int[]){ replicas, 0 }, CSE_BINDING_CORES, &placement);
    count_places(processors, &placement, &share);
    share.bandwidth = fmin(rates->core_bytes_per_s, rates->memory_bytes_per_s / share.on_memory);
    share.cache_bytes = rates->cache_bytes / share.on_cache;
    share.line_s = share.sockets > 1            ? rates->machine_line_s
                   : share.on_cache == replicas ? rates->cache_line_s
                                                : rates->socket_line_s;
    cse_placement_clear(&placement);
    return share;
}

/* ---- compute ---- */

typedef struct unit_sums {
    double microbatch_s, prepared_s;        /* of a replica */
    double moved_bytes, state_bytes;        /* from memory, for a microbatch */
    double prepared_bytes, prepared_states; /* likewise, once a step */
} unit_sums;

static unit_sums sum_units(const cse_step_work *work, const cse_machine_rates *rates,
                           const share_of_machine *share)
{
    unit_sums sums = { .microbatch_s = 0 };
    for (int i = 0; i < work->unit_count; i++) {
        const cse_unit_work *unit = &work->units[i];
        const double moved = unit->bytes > share->cache_bytes ? unit->bytes : 0;
        const double taken_s = fmax(share->on_core * unit->amount / rates->of_core[unit->rate],
                                    moved / share->bandwidth);
        *(unit->per_step ? &sums.prepared_s : &sums.microbatch_s) += taken_s;
        *(unit->per_step ? &sums.prepared_bytes : &sums.moved_bytes) += moved;
        if (moved > 0)
            *(unit->per_step ? &sums.prepared_states : &sums.state_bytes) += unit->state_bytes;
    }
    return sums;
}

/* Bytes that all replicas together read, spread over all memories, until a socket has its part of
 * those that lie at the others. */
static double link_seconds(const cse_machine_rates *rates, const share_of_machine *share,
                           double bytes)
{
    const double sockets = share->sockets;
    return sockets > 1 ? bytes * (sockets - 1) / (sockets * sockets) / rates->link_bytes_per_s : 0;
}

static void find_largest_share(int microbatches, int replicas, cse_core_plan *plan, int *additions)
{
    *additions = 0;
    for (int r = 0; r < replicas; r++) {
        int first, end, nodes = 0;
        cse_tree_share(microbatches, replicas, r, &first, &end);
        for (int at = first; at < end; nodes++)
            at = cse_tree_next(microbatches, at, end);
        plan->sums += nodes;
        if (end - first > plan->largest_share) {
            plan->largest_share = end - first;
            *additions = 0;
        }
        if (end - first == plan->largest_share && end - first - nodes > *additions)
            *additions = end - first - nodes;
    }
}

static void find_compute(const cse_step_work *work, const cse_machine_rates *rates,
                         const share_of_machine *share, cse_core_plan *plan)
{
    int additions;
    const double replicas = plan->replicas;
    const unit_sums units = sum_units(work, rates, share);
    find_largest_share((int)work->microbatches, plan->replicas, plan, &additions);
    const double input_s = share->on_core * work->input_bytes / rates->of_core[CSE_RATE_INPUT];
    const double microbatch_s = units.microbatch_s + input_s;
    const double adding_s = additions * 3 * work->sum_bytes / share->bandwidth;
    const double alone_s = units.prepared_s + plan->largest_share * microbatch_s + adding_s;
    const double linked_s = link_seconds(rates, share,
                                         replicas * units.prepared_states +
                                             (double)work->microbatches * units.state_bytes);
    plan->compute_s = fmax(alone_s, linked_s);
    plan->link_share = linked_s / plan->compute_s;
    plan->memory_share = (units.prepared_bytes + plan->largest_share * units.moved_bytes) *
                         share->on_memory / rates->memory_bytes_per_s / plan->compute_s;
    plan->input_s = plan->largest_share * input_s;
    plan->prepared_s = units.prepared_s;
    /* A replica would do one part of its memory's, at the same bandwidth. */
    plan->shared_saves_s = units.prepared_s * (1 - 1.0 / share->on_memory);
    plan->unequal_s = (plan->largest_share - (double)work->microbatches / replicas) * microbatch_s;
    if (plan->replicas > 1)
        plan->spread_s =
            rates->spread * microbatch_s * sqrt(plan->largest_share) * sqrt(2 * log(replicas));
}

/* ---- what follows ---- */

/* Each process has whole chunks. */
static double in_chunks(double seconds, int chunks, int replicas)
{
    return chunks > 0 ? seconds * ceil((double)chunks / replicas) * replicas / chunks : 0;
}

static void find_rest(const cse_step_work *work, const cse_machine_rates *rates,
                      const share_of_machine *share, cse_core_plan *plan)
{
    const double replicas = plan->replicas, sums = plan->sums;
    const bool reduces = work->reduce_chunks > 0 && !(work->exact && plan->sums == 1);
    const double joined = sums * work->joined_bytes;
    const double direct = (sums - 1) * (work->sum_bytes - work->joined_bytes);
    const double update_rate =
        fmin(rates->of_core[CSE_RATE_UPDATE] / share->on_core, share->bandwidth);
    if (reduces)
        plan->reduce_s =
            in_chunks(fmax((joined + work->reduced_bytes) / replicas / share->bandwidth,
                           link_seconds(rates, share, joined)),
                      work->reduce_chunks, plan->replicas);
    plan->serial_s = work->serial_bytes / rates->of_core[CSE_RATE_SERIAL];
    plan->update_s = in_chunks(fmax((work->update_bytes + direct) / replicas / update_rate,
                                    link_seconds(rates, share, direct)),
                               work->update_chunks, plan->replicas);
    const int stages = 3 + reduces;
    const double words = sums + (reduces ? work->reduce_chunks : 0) + work->update_chunks;
    if (plan->replicas > 1)
        plan->turns_s = (stages * replicas + words) * share->line_s;
}

static void find_step(const cse_step_work *work, const cse_machine_rates *rates,
                      const cse_processors *processors, int replicas, cse_core_plan *plan)
{
    /* As a run has them: more would have no microbatch. */
    const int working = replicas < work->microbatches ? replicas : (int)work->microbatches;
    const share_of_machine share = share_of(rates, processors, working);
    *plan = (cse_core_plan){ .replicas = working };
    find_compute(work, rates, &share, plan);
    find_rest(work, rates, &share, plan);
    plan->step_s = plan->compute_s + plan->spread_s + plan->reduce_s + plan->serial_s +
                   plan->update_s + plan->turns_s;
    plan->samples_per_s =
        (double)work->microbatches * (double)work->micro_batch_size / plan->step_s;
}

static cse_status check(const cse_step_work *work, const cse_machine_rates *rates,
                        const cse_processors *processors, int replicas)
{
    bool needed[CSE_RATE_COUNT] = { [CSE_RATE_SERIAL] = work->serial_bytes > 0,
                                    [CSE_RATE_UPDATE] = work->update_bytes > 0,
                                    [CSE_RATE_INPUT] = work->input_bytes > 0 };
    for (int i = 0; i < work->unit_count; i++)
        needed[work->units[i].rate] = true;
    for (cse_rate rate = 0; rate < CSE_RATE_COUNT; rate++)
        if (needed[rate] && !(rates->of_core[rate] > 0))
            return cse_fail(CSE_DATA,
                            "the machine file has no \"%s\", and the step has such work: measure "
                            "it with a configuration of this precision, or write it into the file",
                            cse_rate_name(rate));
    if (processors->sockets > 1 && !(rates->link_bytes_per_s > 0))
        return cse_fail(CSE_DATA, "the machine file has %d sockets and no \"link_bytes_per_s\"",
                        processors->sockets);
    if (replicas < 1 || replicas > processors->count || replicas > CSE_MOST_PLANNED_REPLICAS)
        return cse_fail(CSE_USAGE,
                        "plan: %d replicas on a machine of %d processors; accepted: 1 to %d",
                        replicas, processors->count,
                        processors->count < CSE_MOST_PLANNED_REPLICAS ? processors->count
                                                                      : CSE_MOST_PLANNED_REPLICAS);
    return CSE_OK;
}

cse_status cse_core_plan_make(const cse_step_work *work, const cse_machine_rates *rates,
                              const cse_processors *processors, int replicas, cse_core_plan *plan)
{
    cse_core_plan one, grown;
    cse_step_work larger = *work;
    CSE_TRY(check(work, rates, processors, replicas));
    larger.microbatches = work->microbatches * replicas;
    find_step(work, rates, processors, 1, &one);
    find_step(work, rates, processors, replicas, plan);
    find_step(&larger, rates, processors, replicas, &grown);
    plan->strong = one.step_s / (replicas * plan->step_s);
    plan->weak = one.step_s / grown.step_s;
    plan->replicas = replicas;
    return CSE_OK;
}
