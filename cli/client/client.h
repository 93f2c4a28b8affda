/* The command line's client of the REST API: finding the server, calls, streams of events.
 *
 * The server is the first that is given of: --server, CSE_SERVER, and the server.json that a server
 * on this machine writes (client_note.h). A noted server is called over its unix socket, which asks
 * this user for no token. A token is read only from a file, since other users can see a command
 * line. An error response (problem details, RFC 9457) becomes a status with its
 * message, so that commands report it as any other failure. */
#ifndef CSE_CLI_CLIENT_CLIENT_H
#define CSE_CLI_CLIENT_CLIENT_H

#include <jansson.h>
#include <stdint.h>

#include "cli/arguments/command_line.h"
#include "engine/base/text.h"

/* Options that say which server is called. */
#define CSE_CLIENT_SERVER_OPTIONS                                                            \
    { "server", "URL", NULL,                                                                 \
      "http://HOST:PORT, unix:PATH or a local server's --root; default: $CSE_SERVER, else "  \
      "the local server started last" },                                                     \
    {                                                                                        \
        "token_file", "FILE", NULL, "file with the server's token; default: $CSE_TOKEN_FILE" \
    }

/* First rows of the table of every command that calls the API and prints what it says. */
#define CSE_CLIENT_OPTIONS                                             \
    CSE_CLIENT_SERVER_OPTIONS,                                         \
    {                                                                  \
        "json", NULL, NULL, "prints the API's JSON response unchanged" \
    }

typedef struct cse_client cse_client;

/* Finds the server without connecting. Fails with CSE_UNAVAILABLE when there is none, CSE_USAGE
 * when its address is invalid, or when the token's file cannot be used. */
cse_status cse_client_open(const cse_command_line *line, cse_client **api);
void cse_client_close(cse_client **api);
/* "http://127.0.0.1:8080" or "unix:/path". Borrowed. */
const char *cse_client_server_view(const cse_client *api);
/* The file that the server's note names, or "". Borrowed. */
const char *cse_client_token_file_view(const cse_client *api);
/* Adds "?token=TOKEN" to a page's address, where the file is given and we can read it. */
void cse_client_add_sign_in(const char *token_file, cse_text *address);

typedef struct cse_client_request {
    const char *method;          /* "GET" when NULL */
    const char *path;            /* with its query, already encoded: "/api/v1/jobs?limit=10" */
    const json_t *body;          /* NULL: none */
    const char *body_type;       /* "application/json" when NULL */
    const char *if_match;        /* NULL: not sent */
    const char *idempotency_key; /* NULL: not sent; with it, lost calls are retried */
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

/* Makes the failure for an array of Diagnostic, with the text `said` before it; CSE_CONFIG when the
 * configuration that was sent is wrong. */
cse_status cse_client_faults(const cse_client *api, int status, const char *said,
                             const json_t *diagnostics);

/* Sets the name of the file that is sent, for messages about errors in it. */
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

/* Reads events until the callbacks or the server (status 204) end the stream; after a lost
 * connection it reconnects and continues after the last id. Fails as cse_client_call does, and with
 * CSE_UNAVAILABLE when the server cannot be reached for 30 s. */
cse_status cse_client_follow(cse_client *api, const cse_client_stream *stream);

/* Appends `word` percent-encoded for a URL. */
void cse_url_encode(cse_text *url, const char *word);

#endif
