/* Layer i of the dynamic programming holds, for each bound that the first i present hosts can end
 * at, the best cut of what lies before it. Two passes: the first finds the least step time, the
 * second the fewest pieces within a limit of time, and of those the least time; (pieces, time) in
 * this order grow along every way through the layers, so the best begins with a best.
 *
 * From one bound `a` the possible ends fall into runs: the ends b in [c, c + lowest bit of c) have
 * the same pieces up to c, where c is a, or follows it by adding lowest bits; and behind c they
 * have the powers of two of b - c in descending order. So what a run costs is a constant for [a, c)
 * and a table by b - c, and a run is one loop over arrays. Only the end of all microbatches is
 * looked at by itself.
 *
 * A cut that is known (shares by speed, rounded to powers of two; then a programming with coarse
 * bounds) limits the time, hence the largest share of each host, hence a band of bounds in each
 * layer. Where the bands are so wide that more than MOST_STEPS ends would be tried, bounds lie at
 * multiples of a power of two. */
#include "workers/hosts/planned_cut.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/vector_clones.h"
#include "workers/hosts/reduction_tree.h"

enum { MOST_POINTS = 4096, COARSE_POINTS = 128, MOST_STEPS = 24 << 20 };

/* Bounds are counted in units of `unit` microbatches, a power of two; the last bound, `points`,
 * stands for the number of microbatches. */
typedef struct programming {
    const cse_cut_options *options;
    int hosts[CSE_MAX_HOSTS], count; /* that are present */
    double piece_s;
    int unit, points;
    double limit; /* nothing above it is wanted */
    /* Of each host, in microbatches; and the band of bounds after the first i hosts. */
    int largest_share[CSE_MAX_HOSTS];
    int low[CSE_MAX_HOSTS + 1], high[CSE_MAX_HOSTS + 1];
    /* By a number of units: what one host takes to compute them; until the pieces behind a bound c
     * are sent, counted from the time at c; the number of these pieces, and the time they take. */
    double *compute_s, *behind_s, *pieces, *pieces_s;
    double *zeros;
    /* By bound: the present layer and the next one; in the second pass also the pieces, and where
     * the last host begins. */
    double *time, *next_time, *sum, *next_sum, *from;
    int32_t *origins; /* [count][points + 1] */
    bool second_pass;
} programming;

static int replicas_of(const cse_cut_options *options)
{
    return options->replicas > 1 ? options->replicas : 1;
}

static double compute_seconds(const cse_cut_options *options, int host, int share)
{
    const int replicas = replicas_of(options);
    return (double)((share + replicas - 1) / replicas) * options->microbatch_s[host];
}

double cse_host_piece_seconds(const cse_cut_options *options)
{
    const int others = cse_hosts_count(&options->present) - 1;
    double slowest = INFINITY;
    for (int host = 0; host < options->host_count; host++)
        if (cse_hosts_have(&options->present, host) && options->bytes_per_s[host] > 0)
            slowest = fmin(slowest, options->bytes_per_s[host]);
    return others * options->piece_bytes / slowest;
}

/* When a host that computes [first, end) has sent it. */
static double sent_seconds(const cse_cut_options *options, int host, int first, int end)
{
    const double piece_s = cse_host_piece_seconds(options);
    const bool together = replicas_of(options) > 1;
    double sent = together ? compute_seconds(options, host, end - first) : 0;
    for (int at = first; at < end;) {
        at = cse_tree_next(options->microbatches, at, end);
        sent = fmax(sent, together ? 0 : compute_seconds(options, host, at - first)) + piece_s;
    }
    return sent;
}

double cse_host_sent_seconds(const cse_cut_options *options, const cse_host_cut *cut, int host)
{
    return sent_seconds(options, host, cut->bounds[host], cut->bounds[host + 1]);
}

double cse_host_compute_seconds(const cse_cut_options *options, const cse_host_cut *cut, int host)
{
    return compute_seconds(options, host, cut->bounds[host + 1] - cut->bounds[host]);
}

double cse_host_cut_seconds(const cse_cut_options *options, const cse_host_cut *cut)
{
    double most = 0;
    for (int host = 0; host < cut->host_count; host++)
        most = fmax(most, cse_host_sent_seconds(options, cut, host));
    return most;
}

/* ---- limits ---- */

/* Shares by speed, with bounds rounded to multiples of `multiple`. */
static void cut_by_speed(const programming *p, int multiple, cse_host_cut *cut)
{
    const cse_cut_options *options = p->options;
    double all = 0, sum = 0;
    for (int i = 0; i < p->count; i++)
        all += 1 / options->microbatch_s[p->hosts[i]];
    *cut = (cse_host_cut){ .host_count = options->host_count };
    for (int host = 0; host < options->host_count; host++) {
        if (cse_hosts_have(&options->present, host))
            sum += 1 / options->microbatch_s[host];
        int bound = (int)lrint(options->microbatches * (sum / all) / multiple) * multiple;
        bound = bound < options->microbatches ? bound : options->microbatches;
        cut->bounds[host + 1] = bound > cut->bounds[host] ? bound : cut->bounds[host];
    }
    /* The last hosts may be absent: what is left belongs to the last one that is not. */
    for (int host = p->hosts[p->count - 1]; host < options->host_count; host++)
        cut->bounds[host + 1] = options->microbatches;
}

static double best_by_speed(const programming *p)
{
    double best = INFINITY;
    for (int multiple = 1; multiple <= p->options->microbatches; multiple *= 2) {
        cse_host_cut cut;
        cut_by_speed(p, multiple, &cut);
        best = fmin(best, cse_host_cut_seconds(p->options, &cut));
    }
    return best;
}

/* The largest share with which a host stays within the limit, and the bands that follow. */
static void find_bands(programming *p)
{
    const int microbatches = p->options->microbatches;
    const double within = p->limit * (1 + 1e-12);
    int64_t before = 0, behind = 0;
    for (int i = 0; i < p->count; i++) {
        int low = 0, high = microbatches;
        while (low < high) {
            const int share = (low + high + 1) / 2;
            if (compute_seconds(p->options, p->hosts[i], share) + p->piece_s <= within)
                low = share;
            else
                high = share - 1;
        }
        p->largest_share[i] = low;
        behind += low;
    }
    for (int i = 0; i <= p->count; i++) {
        const int64_t left = microbatches - behind;
        p->low[i] = left > 0 ? (int)((left + p->unit - 1) / p->unit) : 0;
        p->high[i] = before < microbatches ? (int)(before / p->unit) : p->points;
        if (i < p->count) {
            before += p->largest_share[i];
            behind -= p->largest_share[i];
        }
    }
    p->high[0] = 0;
    p->low[p->count] = p->points;
}

static void set_unit(programming *p, int unit)
{
    p->unit = unit;
    p->points = (p->options->microbatches + unit - 1) / unit;
    find_bands(p);
}

/* How many ends are tried in one pass, at most. */
static int64_t steps_of_pass(const programming *p)
{
    int64_t steps = 0;
    for (int i = 0; i < p->count; i++) {
        const int64_t begins = p->high[i] - p->low[i] + 1;
        const int64_t ends = p->high[i + 1] - p->low[i + 1] + 1;
        const int64_t share = p->largest_share[i] / p->unit + 1;
        if (begins > 0 && ends > 0)
            steps += begins * (ends < share ? ends : share);
    }
    return steps;
}

/* The finest bounds that can be tried in bounded time. */
static void set_finest_unit(programming *p)
{
    int unit = 1;
    while ((p->options->microbatches + unit - 1) / unit > MOST_POINTS)
        unit *= 2;
    set_unit(p, unit);
    while (steps_of_pass(p) > MOST_STEPS)
        set_unit(p, p->unit * 2);
}

/* ---- one run of ends ---- */

/* For d = 0, 1, ...: the host is done at max(link_s + behind[d], base_s + x[d] + y[d]) and sends
 * pieces + more[d] pieces. `time` and `sum` are those of the bound where it begins. */
typedef struct run {
    double link_s, base_s;
    const double *behind, *x, *y;
    double pieces;
    const double *more;
    double time, sum;
    int begin, count;
} run;

CSE_VECTOR_CLONES(void, lower_times, (const run *r, double *restrict best), (r, best))
{
    const double *behind = r->behind, *x = r->x, *y = r->y;
    const double link_s = r->link_s, base_s = r->base_s, time = r->time;
    for (int d = 0; d < r->count; d++) {
        double sent = link_s + behind[d], other = base_s + (x[d] + y[d]);
        sent = sent > other ? sent : other;
        sent = sent > time ? sent : time;
        best[d] = sent < best[d] ? sent : best[d];
    }
}

/* The second pass: the fewest pieces, then the least time. */
static void lower_pieces(const programming *p, const run *r, int end)
{
    double *sums = p->next_sum + end, *times = p->next_time + end, *from = p->from + end;
    for (int d = 0; d < r->count; d++) {
        double sent = fmax(r->link_s + r->behind[d], r->base_s + (r->x[d] + r->y[d]));
        const double sum = r->sum + r->pieces + r->more[d];
        if (sent > p->limit || sum > sums[d])
            continue;
        sent = sent > r->time ? sent : r->time;
        if (sum < sums[d] || sent < times[d]) {
            sums[d] = sum;
            times[d] = sent;
            from[d] = r->begin;
        }
    }
}

static void try_run(const programming *p, const run *r, int end)
{
    if (p->second_pass)
        lower_pieces(p, r, end);
    else
        lower_times(r, p->next_time + end);
}

/* ---- layers ---- */

/* The tables for host i. */
static void fill_tables(programming *p, int i)
{
    for (int d = 0; d <= p->points; d++) {
        const int64_t share = (int64_t)d * p->unit;
        const int within = share < p->options->microbatches ? (int)share : p->options->microbatches;
        p->compute_s[d] = compute_seconds(p->options, p->hosts[i], within);
        p->pieces[d] = __builtin_popcount((unsigned)d);
        p->pieces_s[d] = p->pieces[d] * p->piece_s;
        p->behind_s[d] = d == 0 ? 0 : fmax(p->behind_s[d & (d - 1)], p->compute_s[d]) + p->piece_s;
    }
}

/* The end of all microbatches, by the definition. */
static void try_last_end(const programming *p, int i, int begin)
{
    const int first = begin * p->unit, end = p->options->microbatches;
    if (end - first > p->largest_share[i])
        return;
    int pieces = 0;
    for (int at = first; at < end; pieces++)
        at = cse_tree_next(end, at, end);
    const run r = { .link_s = sent_seconds(p->options, p->hosts[i], first, end),
                    .behind = p->zeros,
                    .x = p->zeros,
                    .y = p->zeros,
                    .pieces = pieces,
                    .more = p->zeros,
                    .time = p->time[begin],
                    .sum = p->sum[begin],
                    .begin = begin,
                    .count = 1 };
    try_run(p, &r, p->points);
}

/* The ends [first, last] behind c, up to which there are `pieces` that are sent at `sent`. */
static void try_ends_behind(const programming *p, const run *from, int c, int first, int last)
{
    const int share = c - from->begin;
    run r = *from;
    r.count = last - first + 1;
    r.behind = p->pieces_s + (first - c);
    r.more = p->pieces + (first - c);
    if (replicas_of(p->options) > 1) {
        r.base_s = r.pieces * p->piece_s;
        r.link_s = 0;
        r.x = p->compute_s + share + (first - c);
        r.y = r.behind;
    } else {
        r.base_s = p->compute_s[share];
        r.x = p->behind_s + (first - c);
        r.y = p->zeros;
    }
    try_run(p, &r, first);
}

/* All ends for host i from bound `begin` on. */
static void try_ends(const programming *p, int i, int begin)
{
    const int share = p->largest_share[i] / p->unit;
    int far = begin + share < p->high[i + 1] ? begin + share : p->high[i + 1];
    far = far < p->points ? far : p->points - 1;
    run r = { .begin = begin, .time = p->time[begin], .sum = p->sum[begin] };
    for (int c = begin; c <= far;) {
        const int next = c == 0 ? p->points : c + (c & -c);
        int first = c > begin ? c : c + 1;
        first = first > p->low[i + 1] ? first : p->low[i + 1];
        const int last = next - 1 < far ? next - 1 : far;
        if (first <= last)
            try_ends_behind(p, &r, c, first, last);
        if (next <= far)
            r.link_s = fmax(r.link_s, p->compute_s[next - begin]) + p->piece_s;
        r.pieces++;
        c = next;
    }
    if (p->high[i + 1] == p->points && begin < p->points)
        try_last_end(p, i, begin);
}

/* The layer behind host i. */
static void add_host(programming *p, int i)
{
    for (int end = 0; end <= p->points; end++) {
        p->next_time[end] = p->next_sum[end] = INFINITY;
        p->from[end] = -1;
    }
    fill_tables(p, i);
    for (int begin = p->low[i]; begin <= p->high[i]; begin++) {
        if (p->time[begin] > p->limit)
            continue;
        /* With no microbatches it sends nothing. */
        if (p->second_pass
                ? p->sum[begin] < p->next_sum[begin] ||
                      (p->sum[begin] == p->next_sum[begin] && p->time[begin] < p->next_time[begin])
                : p->time[begin] < p->next_time[begin]) {
            p->next_time[begin] = p->time[begin];
            p->next_sum[begin] = p->sum[begin];
            p->from[begin] = begin;
        }
        try_ends(p, i, begin);
    }
    for (int end = 0; p->second_pass && end <= p->points; end++)
        p->origins[i * (p->points + 1) + end] = (int32_t)p->from[end];
    double *swapped = p->time;
    p->time = p->next_time;
    p->next_time = swapped;
    swapped = p->sum;
    p->sum = p->next_sum;
    p->next_sum = swapped;
}

/* Runs through all layers; returns the time at the end of the last one. */
static double run_pass(programming *p)
{
    for (int end = 0; end <= p->points; end++)
        p->time[end] = p->sum[end] = end == 0 ? 0 : INFINITY;
    for (int i = 0; i < p->count; i++)
        add_host(p, i);
    return p->time[p->points];
}

static void read_cut(const programming *p, cse_host_cut *cut)
{
    int ends[CSE_MAX_HOSTS] = { 0 };
    for (int i = p->count - 1, end = p->points; i >= 0; i--) {
        ends[p->hosts[i]] = end;
        end = p->origins[i * (p->points + 1) + end];
        assert(end >= 0);
    }
    *cut = (cse_host_cut){ .host_count = p->options->host_count };
    for (int host = 0; host < cut->host_count; host++) {
        const bool present = cse_hosts_have(&p->options->present, host);
        const int end = ends[host] == p->points ? p->options->microbatches : ends[host] * p->unit;
        cut->bounds[host + 1] = present ? end : cut->bounds[host];
    }
}

/* The least time, found with bounds as fine as bounded work allows. */
static double least_time(programming *p)
{
    /* Sums in another order differ in their last bits. */
    const double slack = 1 + 1e-9;
    int coarse = 1;
    p->limit = best_by_speed(p) * slack;
    while ((p->options->microbatches + coarse - 1) / coarse > COARSE_POINTS)
        coarse *= 2;
    if (coarse > 1) {
        set_unit(p, coarse);
        p->limit = fmin(p->limit, run_pass(p) * slack);
    }
    set_finest_unit(p);
    return run_pass(p);
}

static void find_cut(programming *p, cse_host_cut *cut)
{
    const double known = least_time(p);
    double tolerance = p->options->tolerance;
    p->second_pass = true;
    /* Where shares by speed are better than any bounds in units, they are the cut. */
    for (int multiple = 1; known > p->limit && multiple <= p->options->microbatches;
         multiple *= 2) {
        cut_by_speed(p, multiple, cut);
        if (cse_host_cut_seconds(p->options, cut) <= p->limit)
            return;
    }
    /* Without a tolerance the bands are no wider than those of the first pass. */
    do {
        p->limit = known * (1 + tolerance);
        find_bands(p);
        tolerance = tolerance > 1e-3 ? tolerance / 2 : 0;
    } while (steps_of_pass(p) > MOST_STEPS);
    p->origins = cse_malloc((size_t)p->count * (size_t)(p->points + 1) * sizeof *p->origins);
    run_pass(p);
    read_cut(p, cut);
    free(p->origins);
}

double cse_host_cut_plan(const cse_cut_options *options, cse_host_cut *cut)
{
    programming p = { .options = options, .piece_s = cse_host_piece_seconds(options) };
    assert(options->microbatches >= 1 && options->host_count <= CSE_MAX_HOSTS);
    for (int host = 0; host < options->host_count; host++)
        if (cse_hosts_have(&options->present, host))
            p.hosts[p.count++] = host;
    assert(p.count >= 1);
    const int most = options->microbatches < MOST_POINTS ? options->microbatches : MOST_POINTS;
    const size_t places = (size_t)most + 1;
    double **const tables[] = { &p.compute_s, &p.behind_s,  &p.pieces, &p.pieces_s, &p.zeros,
                                &p.time,      &p.next_time, &p.sum,    &p.next_sum, &p.from };
    const size_t count = sizeof tables / sizeof *tables;
    double *memory = cse_calloc(count * places, sizeof *memory);
    for (size_t i = 0; i < count; i++)
        *tables[i] = memory + i * places;
    find_cut(&p, cut);
    free(memory);
    return cse_host_cut_seconds(options, cut);
}
