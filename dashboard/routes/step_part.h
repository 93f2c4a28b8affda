/* The part of a tensor that a request about kept values of a step names. */
#ifndef CSE_DASHBOARD_ROUTES_STEP_PART_H
#define CSE_DASHBOARD_ROUTES_STEP_PART_H

#include "dashboard/replays/step_values.h"
#include "dashboard/routes/route_support.h"

#define CSE_STEP_PART_PARAMETERS                                                             \
    "tensor? string 1..1024  # the tensor's full name\n"                                     \
    "shape? [,integer 0..] ..8  # the tensor is seen in this shape of as many elements, as " \
    "heads in a dimension of their own; absent: in its own\n"                                \
    "at? [,integer] ..8  # of each dimension an index, or -1: all of it; absent: all of "    \
    "all\n"

typedef struct cse_step_part {
    int file;
    cse_tensor_map *map;
    cse_value_part part;
} cse_step_part;

/* The file of all values, which the caller closes; -1 after it filled the answer. */
int cse_step_part_file(const cse_request *request, cse_answer *answer);
/* False after it filled the answer; else close it. */
bool cse_step_part_open(const cse_request *request, cse_answer *answer, cse_step_part *part);
void cse_step_part_close(cse_step_part *part);
/* The problem that a failed choice means. */
void cse_answer_part_failure(cse_answer *answer, cse_status status);

#endif
