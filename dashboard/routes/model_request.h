/* What the routes of OpenAI's interface share: the call to a model, and errors in its words. */
#ifndef CSE_DASHBOARD_ROUTES_MODEL_REQUEST_H
#define CSE_DASHBOARD_ROUTES_MODEL_REQUEST_H

#include "dashboard/api/route.h"

/* The kinds of requests as the model's process knows them. */
enum { CSE_MODEL_CHAT, CSE_MODEL_TEXT, CSE_MODEL_VECTORS };

void cse_model_request_answer(const cse_request *request, int kind, cse_answer *answer);

#endif
