/* The formulas of the header, in its order. */
#include "run/measure/host_model.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>

#include "workers/hosts/reduction_tree.h"

const char *const cse_host_model_assumptions[] = {
    "hosts are alike and start a step together; replicas of a host do not slow each other down",
    "each host holds the whole state and does sums and update itself, divided over its replicas",
    "input is read in time; a step has no other work than that of the profile",
    "pieces go directly to every other host, at the full rate of full-duplex links, without delay; "
    "94 % of what an Ethernet link carries is payload of TCP",
    "a piece is sent when complete: with several replicas, at the end of the share; from three "
    "working hosts on, each joins a shard of all pieces in no time, and then sends it to all",
    "a lost host is replaced: it costs the lease and one step, and no state",
    NULL,
};

double cse_host_piece_bytes(const cse_host_profile *profile)
{
    return 2.0 * (double)profile->rounded_elements + 4.0 * (double)profile->exact_elements;
}

/* How often each host sends the bytes of a piece, with `working` hosts that have microbatches: once
 * for each of its pieces, and at the end of the step. */
static double piece_factor(int hosts, int working)
{
    return working >= 3 ? (working - 1.0) / working : hosts - 1.0;
}

static double joined_factor(int hosts, int working)
{
    return working >= 3 ? (hosts - 1.0) / working : 0;
}

/* The planner counts a piece once for each other host that is present. */
static cse_cut_options cut_options(const cse_host_profile *profile,
                                   const cse_host_plan_options *options, int working)
{
    cse_cut_options cut = { .microbatches = (int)profile->microbatches,
                            .host_count = options->hosts,
                            .present = UINT64_MAX >> (64 - working),
                            .replicas = options->replicas };
    if (working > 1)
        cut.piece_bytes =
            cse_host_piece_bytes(profile) * piece_factor(options->hosts, working) / (working - 1);
    for (int host = 0; host < options->hosts; host++) {
        cut.microbatch_s[host] = profile->microbatch_s;
        cut.bytes_per_s[host] = options->bytes_per_s;
    }
    return cut;
}

static int working_of(const cse_host_cut *cut)
{
    int working = 0;
    for (int host = 0; host < cut->host_count; host++)
        working += cut->bounds[host + 1] > cut->bounds[host];
    return working;
}

/* Hosts are alike, so only their number has to be tried. A cut that leaves one of them idle would
 * be counted at the wrong rate, and is left out. Returns when all that is sent has arrived. */
static double find_cut(const cse_host_profile *profile, const cse_host_plan_options *options,
                       cse_host_plan *plan)
{
    const double link_s = cse_host_piece_bytes(profile) / options->bytes_per_s;
    double best_s = INFINITY;
    for (int working = 1; working <= options->hosts; working++) {
        const cse_cut_options cut = cut_options(profile, options, working);
        cse_host_cut tried;
        double sent_s = cse_host_cut_plan(&cut, &tried);
        if (working_of(&tried) != working)
            continue;
        /* A host that works alone still sends its sums to those that do not. */
        sent_s += working == 1 ? piece_factor(options->hosts, 1) * link_s
                               : joined_factor(options->hosts, working) * link_s;
        if (sent_s < best_s) {
            best_s = sent_s;
            plan->cut = tried;
            plan->compute_s = 0;
            for (int host = 0; host < options->hosts; host++)
                plan->compute_s =
                    fmax(plan->compute_s, cse_host_compute_seconds(&cut, &tried, host));
        }
    }
    return best_s;
}

/* Nodes that the replicas of a host make, each in its own share of the host's. */
static int nodes_of_replicas(const cse_host_cut *cut, int host, int replicas)
{
    const int first = cut->bounds[host], share = cut->bounds[host + 1] - first;
    int nodes = 0;
    if (share == 0)
        return 0;
    for (int replica = 0; replica < replicas; replica++) {
        int at, end;
        cse_tree_share(share, replicas, replica, &at, &end);
        for (; at < end; nodes++)
            at = cse_tree_next(cut->bounds[cut->host_count], first + at, first + end) - first;
    }
    return nodes;
}

static void find_bytes(const cse_host_profile *profile, const cse_host_plan_options *options,
                       cse_host_plan *plan)
{
    const double piece_bytes = cse_host_piece_bytes(profile);
    double sums = 0;
    const int working = plan->working_hosts = working_of(&plan->cut);
    const double each = piece_factor(options->hosts, working);
    const double joined = joined_factor(options->hosts, working);
    for (int host = 0; host < options->hosts; host++)
        plan->pieces += cse_host_cut_pieces(&plan->cut, host);
    for (int host = 0; host < options->hosts; host++) {
        const int own = cse_host_cut_pieces(&plan->cut, host), others = plan->pieces - own;
        const int share = plan->cut.bounds[host + 1] - plan->cut.bounds[host];
        /* The own shard is joined here; a host without microbatches has none. */
        const double arriving = working < 3 ? others
                                : share > 0 ? (others + working - 1.0) / working
                                            : 1;
        if (share > 0)
            plan->bytes_up = fmax(plan->bytes_up, (own * each + joined) * piece_bytes);
        plan->bytes_down = fmax(plan->bytes_down, arriving * piece_bytes);
        sums = fmax(sums, others + nodes_of_replicas(&plan->cut, host, options->replicas));
        plan->largest_share = share > plan->largest_share ? share : plan->largest_share;
    }
    plan->memory_bytes = (double)profile->arena_bytes +
                         options->replicas * (double)profile->process_bytes +
                         sums * (double)profile->partial_sum_bytes;
}

static double goodput_of(const cse_host_profile *profile, const cse_host_plan_options *options,
                         double step_s)
{
    const double saves =
        profile->save_steps > 0 ? profile->save_s / ((double)profile->save_steps * step_s) : 0;
    double lost_s = options->lease_s + step_s;
    if (options->hosts == 1)
        lost_s = profile->save_steps > 0 ? ((double)profile->save_steps / 2 + 1) * step_s : NAN;
    const double losses = options->failure_s > 0 ? options->hosts / options->failure_s * lost_s : 0;
    return 1 / (1 + saves) / (1 + losses);
}

void cse_host_plan_make(const cse_host_profile *profile, const cse_host_plan_options *options,
                        cse_host_plan *plan)
{
    assert(options->hosts >= 1 && options->hosts <= CSE_MAX_HOSTS && options->replicas >= 1);
    *plan = (cse_host_plan){ .update_s = profile->update_s / options->replicas };
    const double sent_s = find_cut(profile, options, plan);
    plan->exposed_s = sent_s - plan->compute_s;
    plan->step_s = sent_s + plan->update_s;
    find_bytes(profile, options, plan);
    plan->goodput = goodput_of(profile, options, plan->step_s);
    plan->samples_per_s = (double)profile->microbatches * (double)profile->micro_batch_size /
                          plan->step_s * plan->goodput;
    plan->host_hours = options->hosts / plan->samples_per_s * 1e6 / 3600;
}
