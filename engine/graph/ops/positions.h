/* What tells attention where its queries and keys are: functions of positions alone, made of
 * cse_iota, so that they are computed once a step. */
#ifndef CSE_OPS_POSITIONS_H
#define CSE_OPS_POSITIONS_H

#include "engine/graph/trace/arguments.h"

/* key - query for each pair: int32 [query, key]. */
cse_tensor *cse_relative_positions(int64_t queries, int64_t keys);

#endif
