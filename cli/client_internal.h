/* What the files of the API's client share. */
#ifndef CSE_CLI_CLIENT_INTERNAL_H
#define CSE_CLI_CLIENT_INTERNAL_H

#include <curl/curl.h>

#include "cli/client.h"

struct cse_client {
    char *server; /* as given */
    char *base;   /* "http://host:port", which paths are added to */
    char *socket; /* path of a unix socket, or NULL */
    char *token;  /* or NULL */
    char *source; /* name of the file that is sent, or NULL */
    CURL *curl;
};

/* What a server leaves for its clients. */
typedef struct cse_client_note {
    char url[1024];
    char token_file[4096]; /* "" when it wants none */
} cse_client_note;

/* The note of the server of `root`, or with NULL of this user's; CSE_UNAVAILABLE when there is
 * none. */
cse_status cse_client_find(const char *root, cse_client_note *note);

/* A connection that is ready for `path`, with the token and `headers` of the caller in front of it;
 * the list is the caller's to free after the transfer. */
struct curl_slist *cse_client_prepare(cse_client *api, const char *path,
                                      struct curl_slist *headers);

/* The failure that an answer of another status than 2xx means. */
cse_status cse_client_problem(const cse_client *api, const cse_client_answer *answer);
/* The failure that a transfer without an answer means. */
cse_status cse_client_lost(const cse_client *api, CURLcode code);

#endif
