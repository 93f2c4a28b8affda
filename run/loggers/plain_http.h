/* Requests over plain HTTP for loggers: a body of JSON and its answer, each with a time limit. One
 * connection for each request, as HTTP/1.0, so that an answer ends with it. */
#ifndef CSE_RUN_LOGGERS_PLAIN_HTTP_H
#define CSE_RUN_LOGGERS_PLAIN_HTTP_H

#include <pthread.h>

#include "csengine/status.h"
#include "engine/base/text.h"

/* http://HOST[:PORT][/PATH] */
typedef struct cse_http_place {
    char host[256], port[8], path[256]; /* path without a / at its end */
} cse_http_place;

/* CSE_CONFIG for another address. */
cse_status cse_http_place_read(const char *url, cse_http_place *place);

/* A caller's connection, that another thread may cut. Start from {.socket = -1}. */
typedef struct cse_http_link {
    pthread_mutex_t lock;
    int socket;
    bool cut;
} cse_http_link;
void cse_http_link_cut(cse_http_link *link);

typedef struct cse_http_request {
    const char *method, *path; /* behind that of the place */
    const char *token;         /* of Authorization: Bearer; may be NULL */
    const cse_text *body;      /* NULL: none */
} cse_http_request;

/* The body is appended to `answer`. CSE_UNAVAILABLE where no answer came. */
cse_status cse_http_ask(const cse_http_place *place, cse_http_link *link,
                        const cse_http_request *request, int *code, cse_text *answer);

#endif
