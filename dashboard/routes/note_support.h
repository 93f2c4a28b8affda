/* Notes of a run, for the routes that change them. */
#ifndef CSE_DASHBOARD_ROUTES_NOTE_SUPPORT_H
#define CSE_DASHBOARD_ROUTES_NOTE_SUPPORT_H

#include "dashboard/routes/route_support.h"

/* The job, whose folder is there and may be written to; else the answer is filled. Release it. */
bool cse_note_may_change(const cse_request *request, cse_answer *answer, cse_job *job);

/* The problem that a failed change of notes means. */
void cse_note_refuse(cse_answer *answer, cse_status status, const char *id);

#endif
