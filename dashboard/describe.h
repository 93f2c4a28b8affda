/* The API's description (OpenAPI 3.1), made from the descriptors of the routes: what it says is
 * what the server checks requests by, and what the typed client of the pages is made from.
 *
 * What nearly all operations share is said here once: the problems that any request may meet, those
 * of a body and of a path with values, ETag and If-None-Match of answers to GET. */
#ifndef CSE_DASHBOARD_DESCRIBE_H
#define CSE_DASHBOARD_DESCRIBE_H

#include "dashboard/route.h"

/* `routes` ends with NULL. The document is the caller's. CSE_INTERNAL when a descriptor does not
 * follow the notation (dashboard/schema.h), or a name stands twice. */
cse_status cse_describe(const cse_route *const *routes, json_t **document);

#endif
