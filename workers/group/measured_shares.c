/* Windows, then the time of a microbatch and of a piece, then the planner, then what became of its
 * plans. */
#include "workers/group/measured_shares.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "workers/hosts/planned_cut.h"

#define SECONDS INT64_C(1000000000)
#define WINDOW_NS SECONDS
#define PLAN_NS (15 * SECONDS) /* after a plan that was no gain */
#define MOST_PLAN_NS (480 * SECONDS)
#define TRIAL_NS (5 * SECONDS) /* of the even cut, where that was faster */
#define MOST_TRIAL_NS (320 * SECONDS)
#define LATER_NS (20 * SECONDS)
#define MOST_LATER_NS (960 * SECONDS)
#define MOST_TRUSTED_NS (6 * SECONDS) /* what is longer may be one measurement of a stall */
#define GAIN 0.08                     /* of the step as it is */
#define SAME 0.04                     /* differences that are none */
#define TOLERANCE_UNKNOWN 0.125       /* nothing is measured: few pieces are worth so much time */
#define TOLERANCE 0.02
#define SLOW 1.25 /* times the median */
enum {
    AGREEING = 2,
    ENOUGH = 3, /* windows in which one may be spoilt */
    MOST_TOLD = 8,
    TRIAL_PART = 10, /* of the time, at most one such part is spent on trials */
};

/* ---- windows ---- */

void cse_shares_note(cse_measured_shares *shares, int host, int64_t execution,
                     const cse_host_work *work)
{
    cse_host_meter *meter = &shares->meters[host];
    if (execution < meter->execution ||
        (execution == meter->execution && work->microbatches < meter->newest.microbatches))
        return;
    if (execution > meter->execution)
        meter->begin = (cse_host_work){ .microbatches = 0 };
    meter->execution = execution;
    meter->newest = *work;
}

static void begin_window(cse_measured_shares *shares, int64_t cut_step, int64_t steps_done,
                         int64_t now_ns)
{
    if (shares->window_cut != cut_step)
        shares->steps = (cse_recent_values){ .count = 0 };
    shares->window_cut = cut_step;
    shares->window_step = steps_done;
    shares->window_ns = now_ns;
    for (int h = 0; h < shares->host_count; h++)
        shares->meters[h].begin = shares->meters[h].newest;
}

static double mean_microbatch_s(const cse_measured_shares *shares)
{
    double sum = 0;
    int count = 0;
    for (int h = 0; h < shares->host_count; h++)
        if (shares->meters[h].microbatch_s > 0) {
            sum += shares->meters[h].microbatch_s;
            count++;
        }
    return count > 0 ? sum / count : 1;
}

static int share_of(const cse_host_cut *cut, int host)
{
    return cut->bounds[host + 1] - cut->bounds[host];
}

static void measure_host(cse_host_meter *meter, int64_t steps)
{
    const int64_t count = meter->newest.microbatches - meter->begin.microbatches;
    const int64_t taken_ns = meter->newest.compute_ns - meter->begin.compute_ns;
    meter->exposed_s =
        (double)(meter->newest.exposed_ns - meter->begin.exposed_ns) * 1e-9 / (double)steps;
    if (count < 1 || taken_ns < 1)
        return;
    cse_recent_add(&meter->microbatch, (double)taken_ns * 1e-9 / (double)count);
    meter->microbatch_s = cse_recent_median(&meter->microbatch);
}

/* A host waits for the slowest one to compute, and for the link. */
static double exposed_link_s(const cse_measured_shares *shares, const cse_host_cut *cut)
{
    const int replicas = shares->replicas > 1 ? shares->replicas : 1;
    double compute_s[CSE_MAX_HOSTS] = { 0 }, slowest_s = 0, link_s = 0;
    for (int h = 0; h < cut->host_count; h++) {
        compute_s[h] =
            ((share_of(cut, h) + replicas - 1) / replicas) * shares->meters[h].microbatch_s;
        slowest_s = fmax(slowest_s, compute_s[h]);
    }
    for (int h = 0; h < cut->host_count; h++)
        if (share_of(cut, h) > 0)
            link_s = fmax(link_s, shares->meters[h].exposed_s - (slowest_s - compute_s[h]));
    return link_s;
}

/* The window that ends. */
static void measure(cse_measured_shares *shares, const cse_host_cut *cut, int64_t steps,
                    double step_s)
{
    for (int h = 0; h < shares->host_count; h++)
        measure_host(&shares->meters[h], steps);
    cse_recent_add(&shares->piece, exposed_link_s(shares, cut));
    shares->piece_s = cse_recent_median(&shares->piece);
    cse_recent_add(&shares->steps, step_s);
}

/* ---- plans ---- */

static bool make_options(const cse_measured_shares *shares, int microbatches,
                         const cse_host_set *present, cse_cut_options *options)
{
    const double mean_s = mean_microbatch_s(shares);
    bool known = false;
    *options = (cse_cut_options){ .microbatches = microbatches,
                                  .host_count = shares->host_count,
                                  .present = *present,
                                  .replicas = shares->replicas,
                                  .piece_bytes = 1 };
    const int others = cse_hosts_count(present) - 1;
    for (int h = 0; h < shares->host_count; h++) {
        const double own_s = shares->meters[h].microbatch_s;
        known = known || own_s > 0;
        options->microbatch_s[h] = own_s > 0 ? own_s : mean_s;
        options->bytes_per_s[h] = shares->piece_s > 0 ? others / shares->piece_s : 0;
    }
    options->tolerance = known ? TOLERANCE : TOLERANCE_UNKNOWN;
    return known;
}

/* Whether a host gets nothing that is not far slower than the others. */
static bool wastes_a_host(const cse_cut_options *options, const cse_host_cut *cut)
{
    double least_s = INFINITY;
    int hosts = 0;
    for (int h = 0; h < cut->host_count; h++)
        if (cse_hosts_have(&options->present, h)) {
            least_s = fmin(least_s, options->microbatch_s[h]);
            hosts++;
        }
    for (int h = 0; hosts <= options->microbatches && h < cut->host_count; h++)
        if (cse_hosts_have(&options->present, h) && share_of(cut, h) == 0 &&
            options->microbatch_s[h] < 4 * least_s)
            return true;
    return false;
}

/* The time on the link is an estimate, which must not take a host out of the run. Of cuts of which
 * the plan thinks alike, one that leaves nobody out is taken: what a host without a share costs is
 * in no plan. */
static double plan(cse_cut_options *options, cse_host_cut *cut)
{
    double seconds = cse_host_cut_plan(options, cut);
    if (!wastes_a_host(options, cut))
        return seconds;
    for (int h = 0; h < options->host_count; h++)
        options->bytes_per_s[h] = 0;
    seconds = cse_host_cut_plan(options, cut);
    if (!wastes_a_host(options, cut))
        return seconds;
    options->tolerance = 0;
    seconds = cse_host_cut_plan(options, cut);
    if (!wastes_a_host(options, cut))
        return seconds;
    cse_host_cut even;
    cse_host_cut_even(options->microbatches, options->host_count, &options->present, &even);
    if (cse_host_cut_seconds(options, &even) > (1 + TOLERANCE) * seconds)
        return seconds;
    *cut = even;
    return cse_host_cut_seconds(options, cut);
}

/* The cut of hosts of which nothing is known: even but for its fewer pieces. */
static void plan_unknown(const cse_measured_shares *shares, int microbatches,
                         const cse_host_set *present, cse_host_cut *cut)
{
    cse_cut_options options = { .microbatches = microbatches,
                                .host_count = shares->host_count,
                                .present = *present,
                                .replicas = shares->replicas,
                                .piece_bytes = 1,
                                .tolerance = TOLERANCE_UNKNOWN };
    for (int h = 0; h < shares->host_count; h++)
        options.microbatch_s[h] = 1;
    plan(&options, cut);
}

static bool has_bounds(const cse_host_cut *a, const cse_host_cut *b)
{
    return memcmp(a->bounds, b->bounds, ((size_t)a->host_count + 1) * sizeof a->bounds[0]) == 0;
}

static bool is_even(cse_measured_shares *shares, const cse_host_cut *cut)
{
    const int microbatches = cut->bounds[cut->host_count];
    cse_host_cut even, *unknown = &shares->unknown_cut;
    cse_host_cut_even(microbatches, shares->host_count, &shares->present, &even);
    if (unknown->host_count == 0 || unknown->bounds[unknown->host_count] != microbatches)
        plan_unknown(shares, microbatches, &shares->present, unknown);
    return has_bounds(&even, cut) || has_bounds(unknown, cut);
}

void cse_shares_plan(const cse_measured_shares *shares, int microbatches,
                     const cse_host_set *present, cse_host_cut *cut)
{
    cse_cut_options options;
    if (shares->even || shares->wants_even) {
        cse_host_cut_even(microbatches, shares->host_count, present, cut);
        return;
    }
    make_options(shares, microbatches, present, &options);
    plan(&options, cut);
}

/* No cut is faster than all hosts together without anything to send. */
static double least_seconds(const cse_cut_options *options)
{
    double rate = 0;
    for (int h = 0; h < options->host_count; h++)
        if (cse_hosts_have(&options->present, h))
            rate += 1 / options->microbatch_s[h];
    return options->microbatches / rate / (options->replicas > 1 ? options->replicas : 1);
}

/* ---- when ---- */

static void put_off(cse_shares_delay *delay, int64_t first_ns, int64_t most_ns)
{
    delay->delay_ns = delay->delay_ns == 0 ? first_ns : 2 * delay->delay_ns;
    if (delay->delay_ns > most_ns)
        delay->delay_ns = most_ns;
}

static void begin_delay(cse_shares_delay *delay, int64_t least_ns, int64_t now_ns)
{
    delay->until_ns = now_ns + (delay->delay_ns > least_ns ? delay->delay_ns : least_ns);
}

/* How long a trial of the even cut takes at most: steps may be those of a host that is far slower
 * than all others. */
static int64_t trial_ns(const cse_measured_shares *shares, const cse_host_cut *cut)
{
    double slowest_s = 0;
    for (int h = 0; h < shares->host_count; h++)
        if (cse_hosts_have(&shares->present, h))
            slowest_s = fmax(slowest_s, shares->meters[h].microbatch_s);
    const double share = (double)cut->bounds[cut->host_count] / cse_hosts_count(&shares->present);
    const int64_t step_ns = (int64_t)(1e9 * share * slowest_s);
    const int64_t trial_ns = ENOUGH * (step_ns > WINDOW_NS ? step_ns : WINDOW_NS);
    return trial_ns < MOST_TRUSTED_NS ? trial_ns : MOST_TRUSTED_NS;
}

/* Where others take part, nothing is known of how long steps take. */
static void look_at_hosts(cse_measured_shares *shares, const cse_host_set *present)
{
    if (cse_hosts_equal(&shares->present, present))
        return;
    shares->present = *present;
    shares->unknown_cut.host_count = 0;
    shares->before_s = shares->even_s = 0;
    shares->wants_even = false;
    shares->plans = shares->trials = shares->returns = shares->reviews =
        (cse_shares_delay){ .until_ns = 0 };
}

/* What hosts without a share did is long ago. */
static void want_even(cse_measured_shares *shares, const cse_host_cut *cut, bool forgets)
{
    for (int h = 0; forgets && h < shares->host_count; h++)
        if (share_of(cut, h) == 0) {
            shares->meters[h].microbatch.count = shares->meters[h].microbatch.next = 0;
            shares->meters[h].microbatch_s = 0;
        }
    shares->wants_even = true;
    shares->before_s = 0;
    shares->agreeing = 0;
}

/* A cut that was planned, and has not made the steps shorter. */
static bool was_no_gain(cse_measured_shares *shares, const cse_host_cut *cut, int64_t now_ns)
{
    if (!(shares->before_s > 0) || shares->steps.count < ENOUGH)
        return false;
    const bool is_gain = cse_recent_median(&shares->steps) < (1 - SAME) * shares->before_s;
    shares->before_s = 0;
    if (is_gain) {
        shares->plans.delay_ns = 0;
        return false;
    }
    put_off(&shares->plans, PLAN_NS, MOST_PLAN_NS);
    begin_delay(&shares->plans, 0, now_ns);
    want_even(shares, cut, false);
    return true;
}

static bool leaves_out(const cse_measured_shares *shares, const cse_host_cut *cut)
{
    for (int h = 0; h < cut->host_count; h++)
        if (cse_hosts_have(&shares->present, h) && share_of(cut, h) == 0)
            return true;
    return false;
}

/* Whether the even cut is to be measured again, instead of this one. */
static bool is_trial_due(cse_measured_shares *shares, const cse_host_cut *cut, int64_t now_ns)
{
    const double now_s = cse_recent_median(&shares->steps);
    const bool was_faster = shares->even_s > 0 && now_s > (1 + SAME) * shares->even_s;
    cse_shares_delay *later = leaves_out(shares, cut) ? &shares->returns : &shares->reviews;
    if (later->until_ns == 0) {
        const int64_t least_ns = TRIAL_PART * trial_ns(shares, cut);
        put_off(&shares->trials, TRIAL_NS, MOST_TRIAL_NS);
        put_off(later, LATER_NS, MOST_LATER_NS);
        begin_delay(&shares->trials, 0, now_ns);
        begin_delay(later, least_ns, now_ns);
    }
    if (shares->steps.count < ENOUGH || now_ns < (was_faster ? &shares->trials : later)->until_ns)
        return false;
    want_even(shares, cut, true);
    return true;
}

/* Delays grow as long as each trial of the even cut ends with another one. */
static void note_even(cse_measured_shares *shares)
{
    shares->before_s = 0;
    shares->even_s = cse_recent_median(&shares->steps);
    shares->returns.until_ns = shares->reviews.until_ns = 0;
    if (shares->steps.count >= CSE_RECENT_VALUES)
        shares->trials.delay_ns = shares->returns.delay_ns = shares->reviews.delay_ns = 0;
}

/* A gain that two windows in a row find. */
static bool finds_gain(cse_measured_shares *shares, const cse_host_cut *cut,
                       const cse_host_set *present, double step_s)
{
    cse_cut_options options;
    cse_host_cut planned;
    const double worth_s = GAIN * step_s;
    bool better = false;
    if (make_options(shares, cut->bounds[cut->host_count], present, &options)) {
        const double now_s = cse_host_cut_seconds(&options, cut);
        better = now_s > least_seconds(&options) + worth_s;
        if (better) {
            plan(&options, &planned);
            better = now_s > cse_host_cut_seconds(&options, &planned) + worth_s;
        }
    }
    shares->agreeing = better ? shares->agreeing + 1 : 0;
    return shares->agreeing >= AGREEING;
}

/* A window has ended. */
static bool decide(cse_measured_shares *shares, const cse_host_cut *cut,
                   const cse_host_set *present, double step_s, int64_t now_ns)
{
    const double usual_s = cse_recent_median(&shares->steps);
    shares->wants_even = false;
    if (is_even(shares, cut)) {
        note_even(shares);
    } else if (was_no_gain(shares, cut, now_ns) || is_trial_due(shares, cut, now_ns)) {
        return true;
    }
    if (shares->before_s > 0) /* what was planned last is not judged yet */
        return false;
    if (now_ns < shares->plans.until_ns || !finds_gain(shares, cut, present, step_s))
        return false;
    shares->agreeing = 0;
    shares->before_s = usual_s;
    return true;
}

bool cse_shares_want_cut(cse_measured_shares *shares, const cse_host_cut *cut,
                         const cse_host_set *present, int64_t steps_done, int64_t now_ns)
{
    if (shares->even || steps_done < cut->first_step)
        return false;
    look_at_hosts(shares, present);
    if (shares->window_ns == 0 || shares->window_cut != cut->first_step ||
        steps_done < shares->window_step)
        begin_window(shares, cut->first_step, steps_done, now_ns);
    const int64_t steps = steps_done - shares->window_step;
    if (steps < 1 || now_ns - shares->window_ns < WINDOW_NS)
        return false;
    const double step_s = 1e-9 * (double)(now_ns - shares->window_ns) / (double)steps;
    measure(shares, cut, steps, step_s);
    begin_window(shares, cut->first_step, steps_done, now_ns);
    return decide(shares, cut, present, step_s, now_ns);
}

/* ---- the log ---- */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of the hosts that had a share. */
static double median_s(const cse_measured_shares *shares, const cse_host_cut *cut)
{
    double sorted[CSE_MAX_HOSTS];
    size_t count = 0;
    for (int h = 0; h < shares->host_count; h++)
        if (share_of(cut, h) > 0 && shares->meters[h].microbatch_s > 0)
            sorted[count++] = shares->meters[h].microbatch_s;
    qsort(sorted, count, sizeof *sorted, compare);
    /* Of two, the faster one. */
    return count > 0 ? sorted[(count - 1) / 2] : 0;
}

static int pieces_of(const cse_host_cut *cut)
{
    int pieces = 0;
    for (int h = 0; h < cut->host_count; h++)
        pieces += cse_host_cut_pieces(cut, h);
    return pieces;
}

void cse_shares_tell(const cse_measured_shares *shares, const char *const *names,
                     const cse_host_cut *before, const cse_host_cut *cut, cse_text *line)
{
    const double usual_s = median_s(shares, before);
    int told = 0, changed = 0;
    cse_text_add(line,
                 "microbatches of a step, from step %lld on:", (long long)cut->first_step + 1);
    for (int h = 0; h < cut->host_count; h++) {
        const double own_s = shares->meters[h].microbatch_s;
        if (share_of(before, h) == share_of(cut, h))
            continue;
        changed++;
        if (told == MOST_TOLD)
            continue;
        cse_text_add(line, "%s host %s %d -> %d", told++ > 0 ? "," : "", names[h],
                     share_of(before, h), share_of(cut, h));
        if (usual_s > 0 && own_s > SLOW * usual_s)
            cse_text_add(line, " (slow: %.3g ms for one, others %.3g ms)", 1e3 * own_s,
                         1e3 * usual_s);
    }
    if (changed > told)
        cse_text_add(line, ", and %d more hosts", changed - told);
    cse_text_add(line, "; pieces %d -> %d", pieces_of(before), pieces_of(cut));
}
