/* The dashboard's pages and their files: all paths that are not the API's. */
#ifndef CSE_DASHBOARD_PAGES_PAGES_H
#define CSE_DASHBOARD_PAGES_PAGES_H

#include "dashboard/api/route.h"

/* Fills the answer with a page or one of its files, from `web_dir` or, when it is NULL, from the
 * program itself; a problem for what is neither. */
void cse_pages_answer(const char *web_dir, const cse_request *request, cse_answer *answer);

#endif
