/* Which step a run had done at a time: what has a time alone gets its place among the steps. */
#ifndef CSE_STORE_STEP_AT_H
#define CSE_STORE_STEP_AT_H

#include "store/reader.h"

typedef struct cse_step_finder cse_step_finder;

/* Lives no longer than the reader. */
cse_step_finder *cse_step_finder_new(cse_store_reader *reader);
/* The last step that was done until then, with those that a later attempt did again; -1: none was,
 * or the run records no series. */
int64_t cse_step_finder_at(cse_step_finder *finder, int64_t time_ms);
void cse_step_finder_destroy(cse_step_finder **finder);

#endif
