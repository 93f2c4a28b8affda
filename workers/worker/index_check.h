/* Values of a microbatch that the step takes as indices. */
#ifndef CSE_WORKERS_WORKER_INDEX_CHECK_H
#define CSE_WORKERS_WORKER_INDEX_CHECK_H

#include "engine/graph/graph.h"

/* The first element of an input that is no index of what it stands for; -1: all are good.
 * `microbatch`: CSE_SPACE_INPUT of its graph. */
int64_t cse_input_wrong_index(const cse_input_entry *input, const unsigned char *microbatch);

/* The values that are accepted: "0 to 49, and -100 for what does not count". Returns `text`. */
enum { CSE_RANGE_TEXT_BYTES = 96 };
const char *cse_input_range_text(const cse_input_entry *input, char *text, size_t bytes);

/* CSE_DATA with the value where an input of the graph holds a wrong one. */
cse_status cse_microbatch_check(const cse_graph *graph, const unsigned char *microbatch);

#endif
