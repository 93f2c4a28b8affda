/* Curves of several runs as one: at each range of steps the mean over the runs, and how far they
 * lie apart. */
#ifndef CSE_DASHBOARD_QUERY_SPREAD_H
#define CSE_DASHBOARD_QUERY_SPREAD_H

#include "engine/base/text.h"
#include "store/bins.h"

/* Of the runs that have finite points in a range. A run counts once, with the mean of its points
 * there: a run with more points has no greater weight, and the spread of points within a run is no
 * part of the spread over runs. */
typedef struct cse_spread_bin {
    int64_t runs;
    double mean, squares, minimum, maximum; /* squares: sum of squared distances from the mean */
} cse_spread_bin;

typedef struct cse_spread {
    cse_spread_bin *bins;
    int count;
    int64_t runs;       /* that have a point in any range */
    int64_t not_finite; /* points, in all ranges */
} cse_spread;

void cse_spread_start(cse_spread *spread, int count);
void cse_spread_clear(cse_spread *spread);
void cse_spread_add(cse_spread *spread, const cse_bin *bins);

/* The deviation of a sample; NaN of fewer than two runs. */
double cse_spread_deviation(const cse_spread_bin *bin);

/* As JSON: {"runs", "not_finite", "mean": [...]} of the ranges that `kept` says; with `grouped`
 * also deviation, minimum, maximum and count. */
void cse_spread_json(const cse_spread *spread, const bool *kept, bool grouped, cse_text *out);

#endif
