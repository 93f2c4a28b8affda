/* Where movers and the carrier of their host meet: local sockets in the abstract namespace, which
 * leave no files, and which other hosts, containers with a network of their own included, do not
 * see. The token tells the carriers of one run from those of others; it is no secret. */
#ifndef CSE_WORKERS_LINKS_CARRIER_NAMES_H
#define CSE_WORKERS_LINKS_CARRIER_NAMES_H

#include <stdbool.h>

#include "csengine/status.h"
#include "workers/links/link.h"

enum {
    CSE_CARRIER_MOVER = -1, /* where the mover of a host listens; else its carrier, for a host */
    CSE_CARRIER_TOKEN_BYTES = 33,
};

/* Letters, digits and "-", not too many. */
bool cse_carrier_token_is_right(const char *token);

/* An address as of host_address.h. */
void cse_carrier_name(const char *token, int host, int to, char text[CSE_HOST_LINK_ADDRESS_BYTES]);
cse_status cse_carrier_listen(const char *token, int host, int to, int *listener);
/* A socket that does not block; -1: nobody is there. */
int cse_carrier_connect(const char *token, int host, int to);

#endif
