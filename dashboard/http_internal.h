/* What the files of the HTTP side share. */
#ifndef CSE_DASHBOARD_HTTP_INTERNAL_H
#define CSE_DASHBOARD_HTTP_INTERNAL_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

#include "dashboard/api.h"
#include "dashboard/http.h"

enum { CSE_HTTP_WORKERS = 3, CSE_HTTP_PATH_BYTES = 1024 };

typedef struct cse_exchange cse_exchange;

struct cse_http {
    cse_http_options options;
    struct MHD_Daemon *daemon;
    cse_api *api;
    cse_access *access;
    cse_guard *guard;
    char *url, *host; /* host: as listened on, NULL for a unix socket */
    char *unix_path;  /* removed at the end */
    int socket;
    atomic_int under_way; /* requests whose answer is not sent */
    atomic_llong requests, errors, refused, bytes_sent;

    /* Routes that may wait. */
    pthread_mutex_t lock;
    pthread_cond_t work;
    cse_exchange *first, *last;
    bool ending;
    pthread_t workers[CSE_HTTP_WORKERS];
    pthread_mutex_t mutation; /* calls with an Idempotency-Key, one at a time */
};

typedef enum cse_exchange_state {
    CSE_EXCHANGE_NEW,
    CSE_EXCHANGE_BODY,   /* the body is being received */
    CSE_EXCHANGE_WAITS,  /* a worker has it; the connection is suspended */
    CSE_EXCHANGE_READY,  /* the answer is there */
    CSE_EXCHANGE_QUEUED, /* the answer is with the library */
} cse_exchange_state;

/* One request and its answer. */
struct cse_exchange {
    cse_http *http;
    struct MHD_Connection *connection;
    cse_exchange *next;
    cse_exchange_state state;
    char *target; /* as on the request line */
    char path[CSE_HTTP_PATH_BYTES];
    char *query_text;
    cse_api_pair query[CSE_HTTP_MAX_QUERY];
    int query_count;
    char peer[64], body_type[128];
    cse_api_match match;
    cse_request request;
    cse_answer answer;
    json_t *values, *body_json;
    cse_text body;
    bool body_too_large, head;
};

/* listen.c: a bound and listening socket for "127.0.0.1:0" and such. Fills socket, host, url and
 * unix_path. */
cse_status cse_http_listen(cse_http *http, const char *listen, bool has_token);

/* exchange.c: the order of checks. Each returns false after it filled the answer. */
bool cse_exchange_check_head(cse_exchange *exchange, const char *method, const char *version);
bool cse_exchange_check_body(cse_exchange *exchange);
/* Calls the route. */
void cse_exchange_handle(cse_exchange *exchange);
const char *cse_exchange_header(void *exchange, const char *name);

/* target.c: splits and decodes the request line's target. False: it is not well-formed. */
bool cse_exchange_split_target(cse_exchange *exchange);

/* send.c: gives the answer to the library. */
enum MHD_Result cse_exchange_send(cse_exchange *exchange);

/* pages.c: fills the answer with a page or one of its files. */
void cse_pages_answer(const cse_http *http, const cse_request *request, cse_answer *answer);

#endif
