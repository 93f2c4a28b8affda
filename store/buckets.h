/* Buckets of a series at several resolutions: a bucket of level k summarises 8^k points (count,
 * last; of the finite ones count, minimum, maximum, sum), so that any range of a run can be drawn
 * from a few hundred rows without losing peaks.
 *
 * The open bucket of each level is kept here; it is written when it is full, and incomplete with
 * each commit. */
#ifndef CSE_STORE_BUCKETS_H
#define CSE_STORE_BUCKETS_H

#include "store/rows.h"

enum { CSE_BUCKET_POINTS = 8, CSE_BUCKET_LEVELS = 12 };

typedef struct cse_buckets cse_buckets;

cse_buckets *cse_buckets_new(int64_t attempt);
void cse_buckets_destroy(cse_buckets **buckets);

/* Adds a point; appends buckets that became full to `rows`. */
void cse_buckets_add(cse_buckets *buckets, const cse_point *point, cse_text *rows);
/* Appends the open buckets that changed since they were last written. */
void cse_buckets_write_open(cse_buckets *buckets, cse_text *rows);

#endif
