/* Where a host listens, from its text to socket addresses, without waiting for a name server: names
 * are looked up by a thread that is left alone when its answer is no longer wanted. */
#ifndef CSE_WORKERS_LINKS_HOST_ADDRESS_H
#define CSE_WORKERS_LINKS_HOST_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

#include "csengine/status.h"
#include "workers/links/link.h"

enum { CSE_HOST_ADDRESS_MOST = 8 };

/* "10.0.0.1:7000", "[fd00::1]:7000" or "name:7000" in its parts; an empty name: all interfaces.
 * "@name", without a port: a local socket in the abstract namespace of unix(7). */
typedef struct cse_host_address {
    char name[CSE_HOST_LINK_ADDRESS_BYTES], port[8];
} cse_host_address;

/* Socket addresses in the order in which they are to be tried. */
typedef struct cse_socket_addresses {
    int count;
    struct sockaddr_storage addresses[CSE_HOST_ADDRESS_MOST];
    socklen_t sizes[CSE_HOST_ADDRESS_MOST];
} cse_socket_addresses;

typedef struct cse_address_lookup cse_address_lookup;

/* CSE_CONFIG: it is not written like one. */
cse_status cse_host_address_parse(const char *text, cse_host_address *address);
/* As text again, with another port. */
void cse_host_address_print(const cse_host_address *address, int port,
                            char text[CSE_HOST_LINK_ADDRESS_BYTES]);

/* Begins to look up an address. NULL: no thread is to be had. */
cse_address_lookup *cse_address_lookup_begin(const cse_host_address *address);
/* Whether the answer is there; then `lookup` becomes NULL. Without an answer `addresses` stay. */
bool cse_address_lookup_end(cse_address_lookup **lookup, cse_socket_addresses *addresses);
/* Its answer is not wanted. */
void cse_address_lookup_leave(cse_address_lookup **lookup);

/* Of numbers, at once; false: it is a name. */
bool cse_host_address_is_numeric(const cse_host_address *address, cse_socket_addresses *addresses);

/* A socket that listens there, without blocking. `port`: the one that it got. CSE_UNAVAILABLE:
 * that cannot be had. */
cse_status cse_host_address_listen(const cse_host_address *address, int *listener, int *port);

#endif
