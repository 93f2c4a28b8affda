/* The command line's side of the REST API: where the server is, one call, one stream of events.
 *
 * The server is looked for in this order: --server, the environment's CSE_SERVER, the note that a
 * server on this machine leaves (see client_note.h). A token comes from a file alone, never from
 * the command line, which others can see. A refusal comes as a problem (RFC 9457) and becomes a
 * status with its message, so that commands report it as any other failure. */
#ifndef CSE_CLI_CLIENT_H
#define CSE_CLI_CLIENT_H

#include <jansson.h>
#include <stdint.h>

#include "cli/command_line.h"
#include "engine/base/text.h"

/* First rows of the table of every command that calls the API. */
#define CSE_CLIENT_OPTIONS                                                                    \
    { "server", "URL", NULL,                                                                  \
      "http://HOST:PORT, unix:PATH or the ROOT of one here; else CSE_SERVER, else the local " \
      "server" },                                                                             \
        { "token_file", "FILE", NULL, "file with the server's token; else CSE_TOKEN_FILE" },  \
    {                                                                                         \
        "json", NULL, NULL, "the API's answer on stdout, as it is"                            \
    }

typedef struct cse_client cse_client;

/* Fails with CSE_UNAVAILABLE when no server is known, CSE_USAGE when its address is none, or as
 * reading the token's file does. Does not connect yet. */
cse_status cse_client_open(const cse_command_line *line, cse_client **api);
void cse_client_close(cse_client **api);
/* "http://127.0.0.1:8080" or "unix:/path". Borrowed. */
const char *cse_client_server_view(const cse_client *api);

typedef struct cse_client_request {
    const char *method;          /* "GET" when NULL */
    const char *path;            /* with its query, already encoded: "/api/v1/jobs?limit=10" */
    const json_t *body;          /* NULL: none */
    const char *body_type;       /* "application/json" when NULL */
    const char *if_match;        /* NULL: not sent */
    const char *idempotency_key; /* NULL: not sent; with one, a lost connection is tried again */
} cse_client_request;

typedef struct cse_client_answer {
    int status;     /* of HTTP; 0 when none came */
    char etag[160]; /* "" when none came */
    cse_text body;
    json_t *json; /* of a JSON body, else NULL */
} cse_client_answer;

/* CSE_OK for 2xx. Otherwise fails with the problem's detail and each of its diagnostics: wrong
 * configuration CSE_CONFIG, 400 CSE_USAGE, 401 and 403 CSE_PERMISSION, 404 CSE_NO_INPUT, 409
 * CSE_FAILED, 412, 429 and 503 CSE_TEMPORARY, no connection CSE_UNAVAILABLE. `answer` holds what
 * came in either case; release it with cse_client_answer_clear. */
cse_status cse_client_call(cse_client *api, const cse_client_request *request,
                           cse_client_answer *answer);
void cse_client_answer_clear(cse_client_answer *answer);

/* The failure for an array of Diagnostic, with `said` before it; CSE_CONFIG when the configuration
 * that was sent is wrong. */
cse_status cse_client_faults(const cse_client *api, int status, const char *said,
                             const json_t *diagnostics);

/* Names the file that was sent, for messages about errors in it. */
void cse_client_name_source(cse_client *api, const char *source);

/* One server-sent event. */
typedef struct cse_client_event {
    const char *type;   /* "message" when the server named none */
    const char *id;     /* "" when it has none */
    const json_t *data; /* NULL when it is no JSON */
} cse_client_event;

typedef struct cse_client_stream {
    const char *path;
    void *self;
    /* False ends the stream. */
    bool (*on_event)(void *self, const cse_client_event *event);
    /* Polled about each second and after each event; true ends the stream. NULL: never. */
    bool (*is_over)(void *self);
} cse_client_stream;

/* Follows until the callbacks or the server (204) end it; comes back after a lost connection from
 * the last id on. Fails as cse_client_call does, and with CSE_UNAVAILABLE when the server stays
 * away for half a minute. */
cse_status cse_client_follow(cse_client *api, const cse_client_stream *stream);

/* Adds `word` with what a URL may not hold written as %XX. */
void cse_url_encode(cse_text *url, const char *word);

#endif
