/* Making a job out of a request: by POST and by PUT alike. */
#ifndef CSE_DASHBOARD_CREATE_H
#define CSE_DASHBOARD_CREATE_H

#include "dashboard/server.h"

/* `id` NULL: the server chooses one. */
void cse_route_create_job(const cse_request *request, cse_answer *answer, const char *id);

#endif
