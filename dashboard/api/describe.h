/* The API's description (OpenAPI 3.1), made from the descriptors of the routes: what it says is
 * what the server checks requests by, and what the typed client of the pages is made from.
 *
 * What nearly all operations share is added here by rule: the problems that any request may get,
 * those of requests with a body or with values in the path, and ETag and If-None-Match for GET. */
#ifndef CSE_DASHBOARD_API_DESCRIBE_H
#define CSE_DASHBOARD_API_DESCRIBE_H

#include "dashboard/api/route.h"

/* `routes` ends with NULL. The document is the caller's. CSE_INTERNAL when a descriptor does not
 * follow the notation (dashboard/api/schema.h), or a name occurs twice. */
cse_status cse_describe(const cse_route *const *routes, json_t **document);

#endif
