/* The jobs that routes about several runs are asked for: by their ids, or by a condition. */
#ifndef CSE_DASHBOARD_ROUTES_CHOSEN_H
#define CSE_DASHBOARD_ROUTES_CHOSEN_H

#include "dashboard/routes/where.h"

#define CSE_CHOSEN_PARAMETER                      \
    "runs? [,JobId] 1..1000  # only these jobs\n" \
    "  = [\"mnist-1\", \"mnist-2\"]\n"

/* The ids of the parameter `runs` as keys, true once met; NULL: all jobs are meant. */
json_t *cse_chosen_read(const cse_request *request);
/* Whether a job is one of them: it is met then. */
bool cse_chosen_asks(json_t *chosen, const char *id);
/* Whether each was met; else the request is answered. */
bool cse_chosen_all_met(json_t *chosen, cse_answer *answer);

#endif
