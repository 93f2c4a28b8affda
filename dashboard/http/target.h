/* The target of a request line: path and query, decoded here and not by the HTTP library, so that
 * what is checked is what came.
 *
 * Refused: what does not begin with '/', bytes outside of printable ASCII, broken escapes, and in
 * the path: escapes of '/', '\', '%' and control characters, empty segments, "." and "..". No
 * route has to check for them. */
#ifndef CSE_DASHBOARD_HTTP_TARGET_H
#define CSE_DASHBOARD_HTTP_TARGET_H

#include "dashboard/api/api.h"

enum { CSE_TARGET_PATH_BYTES = 1024, CSE_TARGET_MAX_QUERY = 64 };

typedef struct cse_target {
    char path[CSE_TARGET_PATH_BYTES];
    char *query_text; /* what `query` points into */
    cse_api_pair query[CSE_TARGET_MAX_QUERY];
    int query_count;
} cse_target;

/* False: `text` is not well-formed. Release with cse_target_clear in either case; `target` begins
 * zeroed. */
bool cse_target_split(const char *text, cse_target *target);
void cse_target_clear(cse_target *target);

#endif
