/* The API's responses about a run without a server: calls the route handlers in this process on the
 * run's store, which they do not change. */
#ifndef CSE_DASHBOARD_LOCAL_RUN_H
#define CSE_DASHBOARD_LOCAL_RUN_H

#include "engine/base/text.h"

typedef struct cse_local_run cse_local_run;

/* Fails as opening the run store of `model_dir` does. */
cse_status cse_local_run_open(const char *model_dir, cse_local_run **run);
void cse_local_run_close(cse_local_run **run);
/* The id that the run has in paths of the API. Borrowed. */
const char *cse_local_run_id_view(const cse_local_run *run);

/* Appends the body of a GET operation ("getMetrics") of the run; `query` as in a URL, but not
 * encoded: "limit=10&role=replica", and with "[]" behind the name of a list: "names[]=loss". Fails
 * with the problem's detail. */
cse_status cse_local_run_ask(cse_local_run *run, const char *operation_id, const char *query,
                             cse_text *body);

#endif
