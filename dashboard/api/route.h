/* The contract of a route: one path of the API, one file in dashboard/routes, which ends with the
 * descriptor.
 *
 * The descriptor says what the path takes and gives. When a handler is called, the request was
 * checked by it: parameters are there as typed values, a JSON body is as its schema says, the
 * caller is authorized. The handler fills the answer and does nothing else. The descriptors of all
 * routes make /openapi.json. */
#ifndef CSE_DASHBOARD_API_ROUTE_H
#define CSE_DASHBOARD_API_ROUTE_H

#include <jansson.h>
#include <stdint.h>

#include "dashboard/api/problem.h"
#include "engine/base/text.h"

struct cse_server;

/* ---- what was asked ---- */

typedef struct cse_request {
    struct cse_server *server;
    const char *method, *path; /* decoded, without the query */
    const struct cse_operation *operation;
    const json_t *values;  /* parameters of path, query and header by name, typed */
    const json_t *body;    /* NULL when there is none or it is no JSON */
    const char *body_text; /* raw; zero-terminated; NULL when there is none */
    size_t body_size;
    const char *body_type; /* media type without parameters, "" */
    const char *peer;      /* address of the caller */
    int socket;            /* of its connection, or -1 */
    const char *accept;    /* "" when not given */
    const char *(*header)(void *self, const char *name);
    void *header_self;
    const char *cookie; /* of the session, or NULL */
    bool takes_gzip;
    bool authorized;               /* the caller has sent a token, or none is required */
    const struct cse_grant *grant; /* of the caller's token, where that has a name; NULL: none */
} cse_request;

/* A parameter's value, or `fallback`. */
const char *cse_request_text(const cse_request *request, const char *name, const char *fallback);
int64_t cse_request_integer(const cse_request *request, const char *name, int64_t fallback);
bool cse_request_bool(const cse_request *request, const char *name);
bool cse_request_has(const cse_request *request, const char *name);
/* A header as it was sent, or NULL. */
const char *cse_request_header(const cse_request *request, const char *name);
/* Whether Accept names this media type. */
bool cse_request_accepts(const cse_request *request, const char *media_type);

/* ---- what is answered ---- */

/* A body that is made while it is sent. */
typedef struct cse_stream {
    void *self;
    /* Up to `room` bytes into `buffer`. 0: nothing now, `wake` will be called; -1: the end. */
    int64_t (*read)(void *self, char *buffer, size_t room);
    /* Called once, before the first read: `wake(waker)` may be called from any thread to have the
     * stream read again. */
    void (*attach)(void *self, void (*wake)(void *waker), void *waker);
    /* The receiver is gone, or all is sent. */
    void (*close)(void *self);
} cse_stream;

enum { CSE_ANSWER_HEADERS = 8 };

typedef struct cse_answer {
    int status; /* 0: not filled yet */
    cse_text body;
    const char *content_type;
    struct {
        const char *name; /* a literal */
        char *value;
    } headers[CSE_ANSWER_HEADERS];
    int header_count;
    bool has_etag, may_cache; /* the handler set its own ETag; the content never changes */
    int file;                 /* descriptor of a file that is the body, or -1 */
    int64_t file_offset, file_size;
    const void *fixed_body; /* bytes that live as long as the program, instead of `body` */
    size_t fixed_size;
    const cse_stream *stream;
    void *stream_self;
} cse_answer;

/* Each fills the answer anew. */
void cse_answer_problem(cse_answer *answer, cse_problem problem, const char *format, ...)
    CSE_PRINTF(3, 4);
/* `errors`: an array of Diagnostic, taken over. */
void cse_answer_diagnostics(cse_answer *answer, cse_problem problem, json_t *errors,
                            const char *format, ...) CSE_PRINTF(4, 5);
/* The problem that a failed call of the engine means, with its message. */
void cse_answer_failure(cse_answer *answer, cse_status status);
/* 200 with `value`, or the problem of a failed call; takes `value` over. */
void cse_answer_result(cse_answer *answer, cse_status status, json_t *value);
/* Takes `value` over. */
void cse_answer_json(cse_answer *answer, int status, json_t *value);
/* JSON that was written by hand; takes the text's bytes over. */
void cse_answer_text(cse_answer *answer, int status, const char *content_type, cse_text *text);
void cse_answer_empty(cse_answer *answer, int status);
void cse_answer_header(cse_answer *answer, const char *name, const char *format, ...)
    CSE_PRINTF(3, 4);
/* The first value of a header of this name, or NULL. */
const char *cse_answer_header_view(const cse_answer *answer, const char *name);
void cse_answer_clear(cse_answer *answer);

/* A text as JSON; null for NULL and for what is no UTF-8. */
json_t *cse_text_json(const char *text);

/* ---- the descriptor ---- */

/* Types are written in the notation of dashboard/api/schema.h. A body or an answer has one line for
 * each form it may have: an answer's HTTP status, the media type (default: application/json),
 * the type, headers as in "+Location", and "# " before a description. */
typedef struct cse_operation {
    const char *method, *id; /* "GET", "listJobs"; NULL ends the list */
    const char *summary, *doc;
    const char *parameters; /* lines; path parameters may be left to the shared ones */
    const char *body;       /* lines; NULL: it takes none */
    const char *replies;    /* lines: its successful answers */
    const char *problems;   /* "409 503": statuses beyond those of the rule in describe.c */
    /* The schema that answers with these statuses may have instead, as application/json; NULL. */
    const char *own_problems;
    void (*handle)(const cse_request *request, cse_answer *answer);
    bool body_optional;
    bool unrecorded; /* changes nothing: no audit, though it is no GET */
    bool open;       /* to callers without a token */
    /* Does not block: runs in the thread that serves the connection, not in a worker. */
    bool quick;
    /* May wait for long: runs in a thread for such calls, so that it holds up no other call. */
    bool slow;
} cse_operation;

#define CSE_OPERATION(http_method, operation, handler, what) \
    .method = (http_method), .id = (operation), .handle = (handler), .summary = (what)

enum { CSE_ROUTE_OPERATIONS = 5 }; /* the last one ends the list */

typedef struct cse_route {
    const char *path;    /* "/api/v1/jobs/{id}": braces take one segment */
    const char *tag;     /* under which the description lists it */
    const char *schemas; /* lines; of this route, and of others that name them; NULL */
    cse_operation operations[CSE_ROUTE_OPERATIONS];
} cse_route;

/* What the server does around calls that change something; either function may be NULL. */
typedef struct cse_call_hooks {
    struct cse_server *server; /* of each request */
    void *self;
    /* A call with Idempotency-Key: true when `answer` was filled from an earlier one. */
    bool (*replay)(void *self, const cse_request *request, cse_answer *answer);
    /* Before each call that is no GET: false when `answer` was filled with why it may not be. */
    bool (*admits)(void *jobs, const cse_request *request, cse_answer *answer);
    void *jobs; /* its first argument */
    /* After each call that is no GET. */
    void (*done)(void *self, const cse_request *request, const cse_answer *answer);
} cse_call_hooks;

/* dashboard/routes, in name order, ended by NULL; written by autogen.sh. */
extern const cse_route *const cse_routes[];

#endif
