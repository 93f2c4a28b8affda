/* Buckets of a series at every zoom: level k sums up 8^k points each, so that any range of a run of
 * any length is drawn from a few hundred rows whose minima and maxima hide nothing.
 *
 * The open bucket of each level lives here; it is written when it is full, and as it stands with
 * each commit. */
#ifndef CSE_STORE_BUCKETS_H
#define CSE_STORE_BUCKETS_H

#include "store/rows.h"

enum { CSE_BUCKET_POINTS = 8, CSE_BUCKET_LEVELS = 12 };

typedef struct cse_buckets cse_buckets;

cse_buckets *cse_buckets_new(int64_t attempt);
void cse_buckets_destroy(cse_buckets **buckets);

/* Counts a point in; buckets that are full now are appended to `rows`. */
void cse_buckets_add(cse_buckets *buckets, const cse_point *point, cse_text *rows);
/* Appends the open buckets that changed since they were last written. */
void cse_buckets_write_open(cse_buckets *buckets, cse_text *rows);

#endif
