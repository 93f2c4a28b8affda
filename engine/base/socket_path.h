/* Names of unix sockets that are longer than the 107 bytes of a sockaddr_un. */
#ifndef CSE_BASE_SOCKET_PATH_H
#define CSE_BASE_SOCKET_PATH_H

#include <stdbool.h>

#include "csengine/status.h"

enum { CSE_SOCKET_PATH_BYTES = 108 };

/* A name of `path` that fits: `path` itself, or one by way of a descriptor of its directory, which
 * is open until the caller closes *directory (-1: none). CSE_NO_INPUT, CSE_USAGE. */
cse_status cse_socket_path(const char *path, char name[CSE_SOCKET_PATH_BYTES], int *directory);

/* Whether a process accepts connections at `path`, of any length: the socket of one that was killed
 * is still there. */
bool cse_socket_is_served(const char *path);

#endif
