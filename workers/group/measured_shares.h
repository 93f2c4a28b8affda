/* The cut of microbatches over hosts by how fast each of them was measured to compute.
 *
 * Each host says how many microbatches its replicas have computed and how long that took; the
 * leader makes of it, in windows of a second or more, the time of a microbatch on each host, and of
 * the hosts' waits for each other the time of a piece on the link. workers/hosts/planned_cut.h
 * finds the cut from both. Hosts of which nothing is known count as alike: their cut is the even
 * one, with fewer pieces where these cost little.
 *
 * What counts is the median of the last windows, so that a stall, however long, is no speed. The
 * cut is no part of the result, but each change of it costs a step's wait: another one is wanted
 * only where two windows in a row find a gain of 8 % of the step as it is.
 *
 * A plan is a guess, the time of a step a measurement. A new cut that does not make the steps
 * shorter than they were before is given up for the even one, and nothing is planned for a time
 * that doubles. And a cut other than the even one is left for it from time to time: soon where the
 * even one is known to have been faster, seldom otherwise, as the times change that were measured;
 * so a host that got nothing shows that it is fast again. */
#ifndef CSE_WORKERS_GROUP_MEASURED_SHARES_H
#define CSE_WORKERS_GROUP_MEASURED_SHARES_H

#include "engine/base/text.h"
#include "workers/group/recent_values.h"
#include "workers/hosts/host_cut.h"

/* Of one host, since the execution began. */
typedef struct cse_host_work {
    int64_t microbatches, compute_ns; /* computed by all its replicas, and how long that took */
    int64_t exposed_ns;               /* its sums were complete, those of others awaited */
} cse_host_work;

typedef struct cse_host_meter {
    int64_t execution;
    cse_host_work begin, newest;  /* of the window */
    cse_recent_values microbatch; /* seconds, of windows */
    double microbatch_s;          /* their median; 0: not known */
    double exposed_s;             /* a step, in the last window */
} cse_host_meter;

/* When something may be tried again; the delay doubles each time. */
typedef struct cse_shares_delay {
    int64_t until_ns, delay_ns;
} cse_shares_delay;

typedef struct cse_measured_shares {
    int host_count, replicas;
    bool even; /* equal shares, whatever is measured */
    cse_host_set present;
    cse_host_cut unknown_cut; /* of these when nothing is measured; host_count 0: not planned */
    cse_recent_values piece;
    double piece_s;
    int64_t window_ns, window_step, window_cut; /* where the window began */
    cse_recent_values steps;                    /* seconds of a step with this cut, of windows */
    double before_s;                            /* with the cut before; 0: it is not compared */
    double even_s;                              /* with the even cut, when it was last measured */
    bool wants_even;                            /* the next plan is the even cut */
    int agreeing;                               /* windows in a row that want another cut */
    cse_shares_delay plans;                     /* before which nothing is planned */
    /* Trials of the even cut: where it is known to be faster, where a host has no share, others. */
    cse_shares_delay trials, returns, reviews;
    cse_host_meter meters[CSE_MAX_HOSTS];
} cse_measured_shares;

void cse_shares_note(cse_measured_shares *shares, int host, int64_t execution,
                     const cse_host_work *work);

/* Whether another cut than `cut` is wanted; to be asked often. */
bool cse_shares_want_cut(cse_measured_shares *shares, const cse_host_cut *cut,
                         const cse_host_set *present, int64_t steps_done, int64_t now_ns);

void cse_shares_plan(const cse_measured_shares *shares, int microbatches,
                     const cse_host_set *present, cse_host_cut *cut);

/* One line for the log: who is slow, whose shares change. */
void cse_shares_tell(const cse_measured_shares *shares, const char *const *names,
                     const cse_host_cut *before, const cse_host_cut *cut, cse_text *line);

#endif
