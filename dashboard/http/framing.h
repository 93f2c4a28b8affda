/* Where a request ends: its headers must leave no doubt, or a proxy in front of this server could
 * see two requests where it sees one. */
#ifndef CSE_DASHBOARD_HTTP_FRAMING_H
#define CSE_DASHBOARD_HTTP_FRAMING_H

#include <microhttpd.h>
#include <stdbool.h>

/* What is wrong with the headers, for the client; NULL: nothing. After a fault nothing more may be
 * read from the connection. */
const char *cse_framing_fault(struct MHD_Connection *connection);

/* Whether a proxy has passed the request on. The library takes some lines that are no headers for
 * the end of the headers, and what follows for the next request: with a proxy in between that could
 * be a stranger's, so that its connections carry one request each. */
bool cse_framing_is_proxied(struct MHD_Connection *connection);

#endif
