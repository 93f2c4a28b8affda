/* Shared by the files of the API's client: the connection, and failures as statuses. */
#ifndef CSE_CLI_CLIENT_CLIENT_CONNECTION_H
#define CSE_CLI_CLIENT_CLIENT_CONNECTION_H

#include <curl/curl.h>

#include "cli/client/client.h"

struct cse_client {
    char *server;          /* as given */
    char *base;            /* "http://host:port", which paths are added to */
    char *socket;          /* path of a unix socket, or NULL */
    int directory;         /* of the socket, while its name goes by way of it; -1 */
    char *token;           /* or NULL */
    char token_file[4096]; /* of the server's note; "": unknown */
    char *source;          /* name of the file that is sent, or NULL */
    CURL *curl;
};

/* Makes a connection for `path` that sends `headers` and the token; the caller frees the list after
 * the transfer. */
struct curl_slist *cse_client_prepare(cse_client *api, const char *path,
                                      struct curl_slist *headers);
/* Appends "NAME: VALUE" to the list, which may be NULL. */
struct curl_slist *cse_client_add_header(struct curl_slist *headers, const char *name,
                                         const char *value);

/* Makes the failure for a response with a status other than 2xx. */
cse_status cse_client_problem(const cse_client *api, const cse_client_answer *answer);
/* Makes the failure for a transfer without a response. */
cse_status cse_client_lost(const cse_client *api, CURLcode code);

#endif
