/* A descriptor of the process holds its number: as long as the process has not ended, what /proc
 * says of the number is said of it. */
#include "dashboard/access/peer.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dashboard/access/peer_socket.h"

enum { OPTION_PEERPIDFD = 77 }; /* SO_PEERPIDFD of Linux 6.5; headers may be older */

typedef struct facts {
    bool known, ending; /* ending: its first thread has, so that its facts are no longer kept */
    long filters;       /* of system calls */
    long no_new_privileges;
} facts;

static bool take_number(const char *line, const char *name, long *value)
{
    const size_t length = strlen(name);
    if (strncmp(line, name, length) != 0)
        return false;
    *value = strtol(line + length, NULL, 10);
    return true;
}

/* Kernels before 5.9 do not count filters: there a process has some, or none, and what it may gain
 * by programs counts, too. */
static facts read_facts(const char *process)
{
    char path[64], line[256];
    facts found = { .known = false };
    long mode = 0, count = -1, no_new = 0;
    snprintf(path, sizeof path, "/proc/%s/status", process);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        found.known = take_number(line, "Seccomp:", &mode) || found.known;
        take_number(line, "Seccomp_filters:", &count);
        take_number(line, "NoNewPrivs:", &no_new);
        if (strncmp(line, "State:", 6) == 0 && strpbrk(line + 6, "ZX") == line + 7)
            found.ending = true;
    }
    if (file != NULL)
        fclose(file);
    found.filters = count >= 0 ? count : mode;
    found.no_new_privileges = count >= 0 ? 0 : no_new;
    return found;
}

/* A job's processes have more filters than the server (base/system_calls.h), which they cannot get
 * rid of. */
static bool is_of_job(pid_t process)
{
    char number[32];
    snprintf(number, sizeof number, "%ld", (long)process);
    const facts own = read_facts("self"), other = read_facts(number);
    return !own.known || !other.known || other.ending || other.filters > own.filters ||
           other.no_new_privileges > own.no_new_privileges;
}

static bool is_alive(int process)
{
    struct pollfd end = { .fd = process, .events = POLLIN };
    return poll(&end, 1, 0) == 0;
}

/* Process 0 is one of another name space. */
static bool read_peer(int socket, pid_t *process)
{
    int domain = 0;
    struct ucred peer = { .uid = (uid_t)-1 };
    socklen_t domain_size = sizeof domain, peer_size = sizeof peer;
    if (getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &domain_size) != 0 ||
        domain != AF_UNIX || getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) != 0)
        return false;
    *process = peer.pid;
    return (peer.uid == geteuid() || peer.uid == 0) && peer.pid > 0;
}

/* Takes the descriptor. */
static bool judge(int descriptor, pid_t process, int socket, bool must_hold)
{
    const bool good = is_alive(descriptor) && !is_of_job(process) &&
                      (!must_hold || cse_process_holds_peer(process, socket)) &&
                      is_alive(descriptor);
    close(descriptor);
    return good;
}

bool cse_peer_is_owner_by_number(int socket)
{
    pid_t process;
    if (!read_peer(socket, &process))
        return false;
    const int descriptor = (int)syscall(SYS_pidfd_open, process, 0);
    return descriptor >= 0 && judge(descriptor, process, socket, true);
}

bool cse_peer_is_owner(int socket)
{
    pid_t process;
    int descriptor = -1;
    socklen_t size = sizeof descriptor;
    if (!read_peer(socket, &process))
        return false;
    if (getsockopt(socket, SOL_SOCKET, OPTION_PEERPIDFD, &descriptor, &size) == 0)
        return judge(descriptor, process, socket, false);
    return errno == ENOPROTOOPT && cse_peer_is_owner_by_number(socket);
}
