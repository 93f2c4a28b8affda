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
    "a piece is sent while the last microbatch of its node is computed, as far as it is final; "
    "with several replicas that is at the end of the share; from three working hosts on, each "
    "joins stripes of all pieces, which takes no time, and sends them to all",
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
                            .present = cse_hosts_first(working),
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

/* How much earlier a piece is sent that takes `piece_s` than if it left when it is complete. */
static double hidden_seconds(const cse_host_profile *profile, double piece_s)
{
    double last_s = 0;
    for (int part = 0; part < CSE_HOST_PIECE_PARTS; part++) {
        const double left = (double)(CSE_HOST_PIECE_PARTS - part) / CSE_HOST_PIECE_PARTS;
        last_s = fmax(last_s, left * piece_s - profile->early[part] * profile->microbatch_s);
    }
    return piece_s - last_s;
}

static int working_of(const cse_host_cut *cut)
{
    int working = 0;
    for (int host = 0; host < cut->host_count; host++)
        working += cut->bounds[host + 1] > cut->bounds[host];
    return working;
}

/* The search for a cut: the best one so far, and when all that is sent has arrived with it. */
typedef struct search {
    const cse_host_profile *profile;
    const cse_host_plan_options *options;
    double best_s;
    cse_host_plan *plan;
} search;

static void try_cut(search *s, const cse_cut_options *cut, int working, const cse_host_cut *tried)
{
    const double link_s = cse_host_piece_bytes(s->profile) / s->options->bytes_per_s;
    if (working_of(tried) != working)
        return; /* it would be counted at the wrong rate */
    /* A host that works alone still sends its sums to those that do not. */
    const double later = working == 1 ? piece_factor(s->options->hosts, 1)
                                      : joined_factor(s->options->hosts, working);
    const double last_s = cse_host_piece_seconds(cut) + later * link_s;
    const double sent_s =
        cse_host_cut_seconds(cut, tried) + later * link_s - hidden_seconds(s->profile, last_s);
    if (sent_s >= s->best_s)
        return;
    s->best_s = sent_s;
    s->plan->cut = *tried;
    s->plan->compute_s = 0;
    for (int host = 0; host < s->options->hosts; host++)
        s->plan->compute_s = fmax(s->plan->compute_s, cse_host_compute_seconds(cut, tried, host));
}

/* Equal shares with bounds at multiples of `multiple`, which makes pieces fewer. */
static void round_cut(int microbatches, int hosts, int working, int multiple, cse_host_cut *cut)
{
    *cut = (cse_host_cut){ .host_count = hosts };
    for (int host = 0; host < hosts; host++) {
        const double bound = (double)microbatches * (host + 1) / working;
        const int rounded = (int)lrint(bound / multiple) * multiple;
        cut->bounds[host + 1] =
            host + 1 >= working || rounded > microbatches ? microbatches : rounded;
    }
}

/* One node of the tree a host, which is one piece each: the largest one is split until there are as
 * many as hosts. False when there are fewer microbatches. */
static bool node_cut(int microbatches, int hosts, int working, cse_host_cut *cut)
{
    cse_tree_node nodes[CSE_MAX_HOSTS] = { cse_tree_root(microbatches) };
    for (int count = 1; count < working; count++) {
        int largest = 0;
        for (int i = 1; i < count; i++)
            largest = nodes[i].size > nodes[largest].size ? i : largest;
        if (nodes[largest].size == 1)
            return false;
        for (int i = count; i > largest + 1; i--)
            nodes[i] = nodes[i - 1];
        nodes[largest + 1] = cse_tree_right(nodes[largest]);
        nodes[largest] = cse_tree_left(nodes[largest]);
    }
    *cut = (cse_host_cut){ .host_count = hosts };
    for (int host = 0; host < hosts; host++)
        cut->bounds[host + 1] =
            host < working ? nodes[host].first + nodes[host].size : microbatches;
    return true;
}

/* All numbers up to 64 working hosts; above, so many that the work stays bounded. */
static bool is_tried(int working, int most)
{
    return most <= 64 || (working & (working - 1)) == 0 || (most - working) % (most / 32) == 0;
}

/* Hosts are alike, so only their number has to be tried: with the cut that is best when a host may
 * be idle, and with those in which none is. */
static double find_cut(const cse_host_profile *profile, const cse_host_plan_options *options,
                       cse_host_plan *plan)
{
    search s = { profile, options, INFINITY, plan };
    const int most =
        options->hosts < profile->microbatches ? options->hosts : (int)profile->microbatches;
    for (int working = 1; working <= most; working++) {
        if (!is_tried(working, most))
            continue;
        const cse_cut_options cut = cut_options(profile, options, working);
        cse_host_cut tried;
        cse_host_cut_plan(&cut, &tried);
        try_cut(&s, &cut, working, &tried);
        if (node_cut(cut.microbatches, options->hosts, working, &tried))
            try_cut(&s, &cut, working, &tried);
        for (int multiple = 1; multiple <= cut.microbatches; multiple *= 2) {
            round_cut(cut.microbatches, options->hosts, working, multiple, &tried);
            try_cut(&s, &cut, working, &tried);
        }
    }
    return s.best_s;
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
