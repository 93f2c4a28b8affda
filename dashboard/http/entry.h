/* The ways in: the address that the operator named, and a unix socket in the server's directory
 * that only its owner can use.
 *
 * Over TCP a client shows the token; over a unix socket the kernel says who the peer is, and the
 * server's own user needs nothing more. */
#ifndef CSE_DASHBOARD_HTTP_ENTRY_H
#define CSE_DASHBOARD_HTTP_ENTRY_H

#include "dashboard/access/token_list.h"
#include "dashboard/http/listen.h"

typedef struct cse_entry_options {
    const char *listen;           /* "127.0.0.1:0" */
    const char *token_file;       /* NULL: a token is made where one is needed */
    const cse_token_list *tokens; /* of that file; borrowed */
    const char *directory;        /* holds the socket `server.sock` and the made `token` */
    bool keep_token;              /* the next server of the directory takes the same token */
} cse_entry_options;

typedef struct cse_entry {
    cse_listener main, local; /* local.socket is -1 where there could be none */
    cse_token_list tokens;    /* may be none */
    char *token_path;         /* may be NULL */
    char *page;               /* the address for a browser, with a token that was made */
    bool removes_token;
} cse_entry;

/* Fails as cse_listen and cse_token_read do. Release with cse_entry_close, also after a failure. */
cse_status cse_entry_open(const cse_entry_options *options, cse_entry *entry);
void cse_entry_close(cse_entry *entry);

#endif
