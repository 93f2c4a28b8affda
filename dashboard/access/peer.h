/* Who is at the other end of a unix socket: decided once, when the connection is accepted. The
 * number of a process is not enough, since a process can end and leave its connection to another,
 * and its number to a third. */
#ifndef CSE_DASHBOARD_ACCESS_PEER_H
#define CSE_DASHBOARD_ACCESS_PEER_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether who connected is a process of this process's user, or of root, that still lives and is
 * none of a confined job, which is this user's, too, and needs the token. Whatever cannot be told
 * is false; so is a socket that is not a unix socket. */
bool cse_peer_is_owner(int socket);

/* The same without SO_PEERPIDFD, for kernels before 6.5: the process with the number that the
 * kernel noted must be found to hold the other end. */
bool cse_peer_is_owner_by_number(int socket);

#endif
