/* The checkpoints of a run as the API shows them. */
#ifndef CSE_DASHBOARD_ROUTES_SAVED_H
#define CSE_DASHBOARD_ROUTES_SAVED_H

#include "dashboard/routes/route_support.h"

/* Appends each as a Checkpoint object, the oldest first. */
cse_status cse_saved_list(const cse_server_run *run, json_t *list);
/* The newest one of this step; NULL after it filled the answer. */
json_t *cse_saved_find(const cse_server_run *run, int64_t step, cse_answer *answer);
bool cse_saved_is_newest(const cse_server_run *run, int64_t step);
/* Path of its file; false when there is none, or when it would lie outside of the run's
 * directory. */
bool cse_saved_path(const cse_server_run *run, const json_t *checkpoint,
                    char path[CSE_JOB_PATH_BYTES]);

#endif
