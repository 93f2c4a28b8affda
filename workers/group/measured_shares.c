/* Windows, then the time of a microbatch and of a piece, then the planner. */
#include "workers/group/measured_shares.h"

#include <math.h>
#include <stdlib.h>

#include "workers/hosts/planned_cut.h"

#define SECONDS INT64_C(1000000000)
#define WINDOW_NS SECONDS
#define RETRY_NS (30 * SECONDS)
#define MOST_RETRY_NS (960 * SECONDS)
#define GAIN 0.08               /* of the step as it is */
#define TOLERANCE_UNKNOWN 0.125 /* nothing is measured: few pieces are worth so much time */
#define TOLERANCE 0.02
#define SLOW 1.25 /* times the median */
enum { AGREEING = 2, MOST_TOLD = 8, TRIAL_PART = 50 };

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

/* A trial takes some steps in which all wait for this host. */
static void set_idle(cse_host_meter *meter, double average_share, int64_t now_ns)
{
    const int64_t trial_ns = (int64_t)(average_share * meter->microbatch_s * 1e9);
    meter->idle_since_ns = now_ns;
    meter->retry_ns = meter->retry_ns == 0 ? RETRY_NS : 2 * meter->retry_ns;
    if (meter->retry_ns > MOST_RETRY_NS)
        meter->retry_ns = MOST_RETRY_NS;
    if (meter->retry_ns < TRIAL_PART * trial_ns)
        meter->retry_ns = TRIAL_PART * trial_ns;
}

static void measure_host(cse_host_meter *meter, int share, double average_share, int64_t steps,
                         int64_t now_ns)
{
    const int64_t count = meter->newest.microbatches - meter->begin.microbatches;
    const int64_t taken_ns = meter->newest.compute_ns - meter->begin.compute_ns;
    meter->exposed_s =
        (double)(meter->newest.exposed_ns - meter->begin.exposed_ns) * 1e-9 / (double)steps;
    if (share > 0)
        meter->idle_since_ns = 0;
    if (count > 0 && taken_ns > 0) {
        const double fresh = (double)taken_ns * 1e-9 / (double)count;
        meter->microbatch_s = meter->microbatch_s > 0 ? (meter->microbatch_s + fresh) / 2 : fresh;
    } else if (share == 0 && meter->idle_since_ns == 0) {
        set_idle(meter, average_share, now_ns);
    } else if (share == 0 && now_ns - meter->idle_since_ns > meter->retry_ns) {
        meter->microbatch_s = 0;
    }
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

/* The time on the link is an estimate, which must not take a host out of the run. */
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
    return cse_host_cut_plan(options, cut);
}

void cse_shares_plan(const cse_measured_shares *shares, int microbatches,
                     const cse_host_set *present, cse_host_cut *cut)
{
    cse_cut_options options;
    if (shares->even) {
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

bool cse_shares_want_cut(cse_measured_shares *shares, const cse_host_cut *cut,
                         const cse_host_set *present, int64_t steps_done, int64_t now_ns)
{
    cse_cut_options options;
    cse_host_cut planned;
    if (shares->even || steps_done < cut->first_step)
        return false;
    if (shares->window_ns == 0 || shares->window_cut != cut->first_step ||
        steps_done < shares->window_step)
        begin_window(shares, cut->first_step, steps_done, now_ns);
    const int64_t steps = steps_done - shares->window_step;
    if (steps < 1 || now_ns - shares->window_ns < WINDOW_NS)
        return false;
    const double average_share = (double)cut->bounds[cut->host_count] / cse_hosts_count(present);
    for (int h = 0; h < shares->host_count; h++)
        measure_host(&shares->meters[h], share_of(cut, h), average_share, steps, now_ns);
    const double link_s = exposed_link_s(shares, cut);
    shares->piece_s = shares->piece_s > 0 ? (shares->piece_s + link_s) / 2 : link_s;
    const double worth_s = GAIN * 1e-9 * (double)(now_ns - shares->window_ns) / (double)steps;
    begin_window(shares, cut->first_step, steps_done, now_ns);
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
    if (shares->agreeing < AGREEING)
        return false;
    shares->agreeing = 0;
    return true;
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
