/* The HTTP side of the server: connections, the order of checks, and answers; what is served comes
 * from dashboard/routes and from the embedded pages.
 *
 * A request goes: a place and a rate among the others -> well-formed -> meant for us (Host, Origin)
 * -> a path that is known -> let in -> headers, parameters -> body within its limit -> its schema
 * -> the route. Each refusal is a problem (RFC 9457) and costs no more than the check. Routes that
 * may wait run in a few threads of their own while the connection sleeps; event streams are written
 * by the threads of the HTTP library as their producers wake them. */
#ifndef CSE_DASHBOARD_HTTP_H
#define CSE_DASHBOARD_HTTP_H

#include "dashboard/access.h"
#include "dashboard/route.h"

typedef struct cse_http cse_http;

typedef struct cse_http_options {
    /* "127.0.0.1:8080", "[::1]:0", "localhost:0", "unix:/path"; port 0: any free one. An address
     * that other machines reach is refused without a token file. */
    const char *listen;
    const char *token_file;
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

/* "http://127.0.0.1:8080", or "unix:/path". Borrowed. */
const char *cse_http_url_view(const cse_http *http);
const cse_access *cse_http_access_view(const cse_http *http);
/* The API's description, made from the routes. Borrowed. */
const json_t *cse_http_description_view(const cse_http *http);

typedef struct cse_http_figures {
    int connections;
    int64_t requests, errors; /* answers so far; of them 5xx */
    int64_t dropped;          /* connections ended for being late */
    int64_t refused;          /* 401, 403, 429 */
    int64_t bytes_sent;
} cse_http_figures;
cse_http_figures cse_http_figures_now(cse_http *http);

#endif
