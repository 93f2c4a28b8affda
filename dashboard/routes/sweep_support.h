/* What the routes of sweeps share. */
#ifndef CSE_DASHBOARD_ROUTES_SWEEP_SUPPORT_H
#define CSE_DASHBOARD_ROUTES_SWEEP_SUPPORT_H

#include "dashboard/server.h"

/* Answers with the sweep of this name. */
void cse_sweep_answer(const cse_request *request, int status, const char *name, cse_answer *answer);
/* Whether the caller may start and end sweeps here; else the answer is filled. */
bool cse_sweep_admits(const cse_request *request, cse_answer *answer);

#endif
