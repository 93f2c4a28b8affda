/* The socket that the server listens on.
 *
 * It is made here, not by the HTTP library, so that the kernel can choose the port, the address is
 * known before the first connection, and an address that other machines reach is refused without a
 * token of the operator's. A unix socket can be used by its owner alone; one that a dead server
 * left is replaced, that of a living one never. */
#ifndef CSE_DASHBOARD_HTTP_LISTEN_H
#define CSE_DASHBOARD_HTTP_LISTEN_H

#include <stdbool.h>

#include "csengine/status.h"

typedef struct cse_listener {
    int socket;      /* -1: none */
    char *url;       /* "http://127.0.0.1:8080", or "unix:/path" */
    char *host;      /* as listened on; NULL for a unix socket */
    unsigned port;   /* of TCP, or 0 */
    char *unix_path; /* removed at the end; NULL */
} cse_listener;

/* A bound and listening socket for "127.0.0.1:0", "unix:/path" and such. CSE_USAGE,
 * CSE_UNAVAILABLE, CSE_PERMISSION. Release with cse_listener_clear, also after a failure. */
cse_status cse_listen(const char *address, bool has_token_file, cse_listener *listener);
void cse_listener_clear(cse_listener *listener);

#endif
