/* The key of a unix socket: a file beside it that its owner alone can read, and of the owner's
 * processes those alone that may use the folder. A job can connect to any socket of its user, since
 * the kernel's limits on files do not cover that; without the key it is not heard.
 *
 * The numbers of processes would not do: one in a name space of its own cannot tell those outside.
 */
#ifndef CSE_WORKERS_TRANSPORTS_SOCKET_KEY_H
#define CSE_WORKERS_TRANSPORTS_SOCKET_KEY_H

#include <stdbool.h>

#include "csengine/status.h"

enum { CSE_SOCKET_KEY_DIGITS = 32 };

/* The key of the socket file at `path`, which need not exist yet; made where there is none. */
cse_status cse_socket_key(const char *path, char key[CSE_SOCKET_KEY_DIGITS + 1]);
/* After the socket. */
void cse_socket_key_remove(const char *path);
/* In a time that does not tell how much was right. */
bool cse_socket_key_is(const char *key, const char *shown);

#endif
