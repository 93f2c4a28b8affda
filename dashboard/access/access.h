/* Authorization: a bearer token for programs, a session cookie made from it for browsers, and the
 * check that a request is addressed to this server.
 *
 * The Host and Origin checks stand beside the token: a page of another site, opened in a browser on
 * this machine, can send requests here (cross-site request forgery), and can point a name it
 * controls at this address (DNS rebinding). A cookie is an expiry time with a message
 * authentication code under a key derived from the token, so that no session has to be stored and a
 * restarted server with the same token accepts it. */
#ifndef CSE_DASHBOARD_ACCESS_ACCESS_H
#define CSE_DASHBOARD_ACCESS_ACCESS_H

#include <time.h>

#include "dashboard/access/token_list.h"
#include "engine/base/text.h"

typedef struct cse_access cse_access;

typedef struct cse_access_options {
    const cse_token_list *tokens;  /* copied; NULL, or none: no caller has one */
    const char *host;              /* as listened on: "127.0.0.1"; NULL for a unix socket */
    unsigned port;                 /* 0: none */
    const char *const *host_names; /* further names under which clients know it, ended by NULL */
    time_t (*clock)(void);         /* seconds since 1970; NULL: the machine's */
} cse_access_options;

enum { CSE_COOKIE_BYTES = 160, CSE_SESSION_SECONDS = 7 * 24 * 3600 };

/* Browsers send a host's cookies to each of its ports, so that a server adds its port to the name.
 */
#define CSE_COOKIE_NAME "csengine_session"

cse_status cse_access_new(const cse_access_options *options, cse_access **access);
void cse_access_destroy(cse_access **access);

bool cse_access_wants_token(const cse_access *access);
/* What the holder of the token may; NULL: it is none of ours. Borrowed. */
const cse_grant *cse_access_grant_of(const cse_access *access, const char *token);
/* The same by "Bearer TOKEN" of Authorization, or the value of the cookie; or both NULL. */
const cse_grant *cse_access_authorizes(cse_access *access, const char *authorization,
                                       const char *cookie);

const char *cse_access_cookie_name_view(const cse_access *access);
/* The value of a new cookie for the holder of a token: a grant of this access. */
void cse_access_new_cookie(const cse_access *access, const cse_grant *grant,
                           char cookie[CSE_COOKIE_BYTES]);
/* Revokes the cookie. */
void cse_access_forget_cookie(cse_access *access, const char *cookie);

/* Whether "name:port" is one of this server's names; by way of a unix socket that is also this
 * machine. NULL: none was sent. */
bool cse_access_host_is_ours(const cse_access *access, const char *host, bool over_socket);
/* Whether a page of `origin` may send requests to `host`: the same place, or none was sent. */
bool cse_access_origin_is_ours(const char *origin, const char *host);

/* Whether an address is reached from this machine alone. */
bool cse_address_is_loopback(const char *host);

#endif
