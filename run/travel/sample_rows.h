/* Which values of a microbatch have rows for its samples: [micro_batch_size * n, ...]. */
#ifndef CSE_RUN_TRAVEL_SAMPLE_ROWS_H
#define CSE_RUN_TRAVEL_SAMPLE_ROWS_H

#include "engine/graph/graph.h"

/* By node, at the index that this leaves in its `scratch`. The caller frees it. */
bool *cse_sample_rows(cse_graph *graph);

#endif
