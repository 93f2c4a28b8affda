/* The cut of microbatches over hosts by how fast each of them was measured to compute.
 *
 * Each host says how many microbatches its replicas have computed and how long that took; the
 * leader makes of it, in windows of a second or more, the time of a microbatch on each host, and of
 * the hosts' waits for each other the time of a piece on the link. workers/hosts/planned_cut.h
 * finds the cut from both. Hosts of which nothing is known count as alike.
 *
 * The cut is no part of the result, but each change of it costs a step's wait: another one is
 * wanted only where two windows in a row find a gain of 8 % of the step as it is. A host that got
 * no microbatches, since it was too slow, is taken for an average one after a delay that doubles
 * each time, or it could never show that it is fast again. */
#ifndef CSE_WORKERS_GROUP_MEASURED_SHARES_H
#define CSE_WORKERS_GROUP_MEASURED_SHARES_H

#include "engine/base/text.h"
#include "workers/hosts/host_cut.h"

/* Of one host, since the execution began. */
typedef struct cse_host_work {
    int64_t microbatches, compute_ns; /* computed by all its replicas, and how long that took */
    int64_t exposed_ns;               /* its sums were complete, those of others awaited */
} cse_host_work;

typedef struct cse_host_meter {
    int64_t execution;
    cse_host_work begin, newest; /* of the window */
    double microbatch_s;         /* 0: not known */
    double exposed_s;            /* a step, in the last window */
    int64_t idle_since_ns, retry_ns;
} cse_host_meter;

typedef struct cse_measured_shares {
    int host_count, replicas;
    bool even; /* equal shares, whatever is measured */
    double piece_s;
    int64_t window_ns, window_step, window_cut; /* where the window began */
    int agreeing;                               /* windows in a row that want another cut */
    cse_host_meter meters[CSE_MAX_HOSTS];
} cse_measured_shares;

void cse_shares_note(cse_measured_shares *shares, int host, int64_t execution,
                     const cse_host_work *work);

/* Whether a cut that is enough better than `cut` is found; to be asked often. */
bool cse_shares_want_cut(cse_measured_shares *shares, const cse_host_cut *cut,
                         const cse_host_set *present, int64_t steps_done, int64_t now_ns);

void cse_shares_plan(const cse_measured_shares *shares, int microbatches,
                     const cse_host_set *present, cse_host_cut *cut);

/* One line for the log: who is slow, whose shares change. */
void cse_shares_tell(const cse_measured_shares *shares, const char *const *names,
                     const cse_host_cut *before, const cse_host_cut *cut, cse_text *line);

#endif
