/* Which process holds the other end of a unix socket, by the kernel's table of sockets. */
#ifndef CSE_DASHBOARD_ACCESS_PEER_SOCKET_H
#define CSE_DASHBOARD_ACCESS_PEER_SOCKET_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether a descriptor of the process is the other end of `socket`. False where the kernel does not
 * tell (it needs UNIX_DIAG). */
bool cse_process_holds_peer(pid_t process, int socket);

#endif
