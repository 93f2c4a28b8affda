/* One request and its answer. The checks that a request passes are listed in http.h. */
#ifndef CSE_DASHBOARD_HTTP_EXCHANGE_H
#define CSE_DASHBOARD_HTTP_EXCHANGE_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

#include "dashboard/access/access.h"
#include "dashboard/access/guard.h"
#include "dashboard/api/api.h"
#include "dashboard/http/target.h"

enum { CSE_MAX_BODY_BYTES = (1 << 20) + (1 << 16) }; /* a configuration and what is around it */

/* What all requests share: the objects they are checked against, and counters. */
typedef struct cse_exchange_context {
    cse_api *api;
    cse_access *access;
    cse_guard *guard;
    const cse_call_hooks *hooks; /* NULL: none */
    const char *web_dir;
    atomic_llong requests, errors, refused, bytes_sent;
} cse_exchange_context;

typedef enum cse_exchange_state {
    CSE_EXCHANGE_NEW,
    CSE_EXCHANGE_BODY,   /* the body is being received */
    CSE_EXCHANGE_WAITS,  /* a worker has it; the connection is suspended */
    CSE_EXCHANGE_READY,  /* the answer is there */
    CSE_EXCHANGE_QUEUED, /* the answer is with the library */
} cse_exchange_state;

typedef struct cse_exchange {
    cse_exchange_context *context;
    struct MHD_Connection *connection;
    struct cse_exchange *next, *next_keyed; /* of call_queue.h */
    cse_exchange_state state;
    char *target_text; /* as on the request line */
    cse_target target;
    char peer[64], body_type[128];
    cse_api_match match;
    cse_request request;
    cse_answer answer;
    json_t *values, *body_json;
    cse_text body;
    bool body_too_large, head;
    int socket;      /* of the connection, or -1 */
    bool closes;     /* the connection ends with the answer */
    bool from_owner; /* over a unix socket, by the server's own user */
    bool prepared;   /* the answer was tagged and packed */
} cse_exchange;

/* Takes a copy of the target. */
cse_exchange *cse_exchange_new(cse_exchange_context *context, struct MHD_Connection *connection,
                               const char *target);
void cse_exchange_destroy(cse_exchange **exchange);

/* The checks before and after the body came. Each returns false after it filled the answer. */
bool cse_exchange_check_head(cse_exchange *exchange, const char *method);
bool cse_exchange_check_body(cse_exchange *exchange);
/* The Idempotency-Key of a call that changes something; NULL: it has none. Borrowed. */
const char *cse_exchange_key_view(const cse_exchange *exchange);
/* Calls the route. The request has passed both checks, and no other call with its key is being
 * carried out. */
void cse_exchange_handle(cse_exchange *exchange);
/* A header of the request, or NULL. `exchange` is a cse_exchange. */
const char *cse_exchange_header(void *exchange, const char *name);

#endif
