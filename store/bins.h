/* A series over ranges of steps of equal width: every point of a range is counted in it once,
 * whatever the buckets of the store are, so that the same ranges of several runs are compared. */
#ifndef CSE_STORE_BINS_H
#define CSE_STORE_BINS_H

#include "store/reader.h"

/* The points of one range; `sum` is of those that are finite. */
typedef struct cse_bin {
    int64_t finite, not_finite;
    int64_t first_step, last_step; /* of the points; 0 where there are none */
    double sum;
} cse_bin;

/* Range i has the steps first + i * width to first + (i + 1) * width - 1. */
typedef struct cse_bin_range {
    int64_t first, width;
    int count;
} cse_bin_range;

/* Fills bins[range->count] with the points of a series, over all attempts; points that were
 * replaced by a later attempt are not among them. A series that the run does not have has no
 * points. */
cse_status cse_store_reader_bins(cse_store_reader *reader, const char *series,
                                 const cse_bin_range *range, cse_bin *bins);

/* The least width that is at least (last - first + 1) / most, and so near to the buckets' own
 * numbers of points that few have to be opened: m * 8^k with m from 1 to 7. */
int64_t cse_bin_width(int64_t first, int64_t last, int64_t most);

#endif
