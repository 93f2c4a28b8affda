/* The token of an address ("/?token=...") is swapped for a session cookie, and the browser sent on
 * to the same address without it, so that it stays in no history and is sent nowhere else. */
#ifndef CSE_DASHBOARD_HTTP_SIGN_IN_H
#define CSE_DASHBOARD_HTTP_SIGN_IN_H

#include "dashboard/access/access.h"
#include "dashboard/api/route.h"
#include "dashboard/http/target.h"

/* False: the target has no token, and `answer` is as it was. A wrong token leads to the page, which
 * asks for the right one. `text`: the target as it came; `cookies`: the header, or NULL. */
bool cse_sign_in(const cse_access *access, const cse_target *target, const char *text,
                 const char *cookies, cse_answer *answer);

/* Sets a new session cookie. */
void cse_sign_in_add_cookie(const cse_access *access, const cse_grant *grant, cse_answer *answer);

#endif
