/* The HTTP side of the server: connections, requests and answers. What is served comes from
 * dashboard/routes and from the embedded pages.
 *
 * A request passes these checks in order: limits on connections and on the rate of an address;
 * well-formed target and headers; Host and Origin; a known path and method; authorization;
 * parameters; size and media type of the body; the schema of the body. Then its route is called. A
 * check that fails answers with a problem (RFC 9457). Routes that may block run in a few worker
 * threads while the connection is suspended; event streams are written by the threads of the HTTP
 * library when their producers wake them. */
#ifndef CSE_DASHBOARD_HTTP_HTTP_H
#define CSE_DASHBOARD_HTTP_HTTP_H

#include "dashboard/access/access.h"
#include "dashboard/api/route.h"
#include "dashboard/http/entry.h"

typedef struct cse_http cse_http;

typedef struct cse_http_options {
    /* "127.0.0.1:8080", "[::1]:0", "localhost:0", "unix:/path"; port 0: any free one. An address
     * that other machines reach is refused without a token file. */
    cse_entry_options entry;
    const char *const *host_names;
    const char *web_dir;        /* pages from there instead of the embedded ones; NULL */
    int connection_limit;       /* 0: 4096 */
    double requests_per_second; /* of one address; 0: 2000 */
    double client_seconds; /* for a request's headers, twice that for its body and for reading an
                            * answer; 0: 15 */
    const cse_call_hooks *hooks; /* borrowed */
} cse_http_options;

/* CSE_UNAVAILABLE when the address is taken, CSE_USAGE when it is none, CSE_PERMISSION when it
 * would need a token, else as the token file says; CSE_INTERNAL when a route's descriptor is
 * wrong. */
cse_status cse_http_start(const cse_http_options *options, cse_http **http);
/* Ends all connections. Streams must have been ended by their producers. */
void cse_http_stop(cse_http **http);

/* Where it listens, and the token. Borrowed. */
const cse_entry *cse_http_entry_view(const cse_http *http);
const cse_access *cse_http_access_view(const cse_http *http);
/* The API's description, made from the routes. Borrowed. */
const json_t *cse_http_description_view(const cse_http *http);

typedef struct cse_http_figures {
    int connections;
    int64_t requests, errors; /* answers so far; of them 5xx */
    int64_t dropped;          /* connections closed for missing a deadline */
    int64_t refused;          /* 401, 403, 429 */
    int64_t bytes_sent;
} cse_http_figures;
cse_http_figures cse_http_figures_now(cse_http *http);

#endif
