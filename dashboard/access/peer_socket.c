/* The kernel names the other end by the number of its socket (sock_diag), and a process's open
 * sockets by the same numbers (/proc/PID/fd). */
#include "dashboard/access/peer_socket.h"

#include <dirent.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ANSWER_BYTES = 4096, ALL_STATES = -1 };

typedef struct question {
    struct nlmsghdr head;
    struct unix_diag_req body;
} question;

/* Of an answer; 0: it has none. */
static uint32_t find_peer(const unsigned char *answer, ssize_t size)
{
    const struct nlmsghdr *head = (const void *)answer;
    const size_t body = NLMSG_SPACE(sizeof(struct unix_diag_msg));
    if (size < (ssize_t)body || head->nlmsg_type != SOCK_DIAG_BY_FAMILY)
        return 0;
    const struct rtattr *attribute = (const void *)(answer + body);
    for (size_t left = (size_t)size - body; RTA_OK(attribute, left);
         attribute = RTA_NEXT(attribute, left))
        if (attribute->rta_type == UNIX_DIAG_PEER && RTA_PAYLOAD(attribute) == sizeof(uint32_t)) {
            uint32_t number;
            memcpy(&number, RTA_DATA(attribute), sizeof number);
            return number;
        }
    return 0;
}

/* The number of the other end's socket; 0: it cannot be told. */
static uint32_t ask_for_peer(int socket_asked)
{
    struct stat facts;
    _Alignas(struct nlmsghdr) unsigned char answer[ANSWER_BYTES];
    const int asking = fstat(socket_asked, &facts) == 0
                           ? socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)
                           : -1;
    const question asked = { .head = { .nlmsg_len = sizeof asked,
                                       .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                                       .nlmsg_flags = NLM_F_REQUEST },
                             .body = { .sdiag_family = AF_UNIX,
                                       .udiag_states = (uint32_t)ALL_STATES,
                                       .udiag_ino = (uint32_t)facts.st_ino,
                                       .udiag_show = UDIAG_SHOW_PEER,
                                       .udiag_cookie = { UINT32_MAX, UINT32_MAX } } };
    uint32_t peer = 0;
    if (asking >= 0 && send(asking, &asked, sizeof asked, 0) == (ssize_t)sizeof asked)
        peer = find_peer(answer, recv(asking, answer, sizeof answer, 0));
    if (asking >= 0)
        close(asking);
    return peer;
}

bool cse_process_holds_peer(pid_t process, int socket)
{
    char folder[64], wanted[64], link[64];
    const uint32_t peer = ask_for_peer(socket);
    bool holds = false;
    snprintf(folder, sizeof folder, "/proc/%ld/fd", (long)process);
    snprintf(wanted, sizeof wanted, "socket:[%lu]", (unsigned long)peer);
    DIR *entries = peer != 0 ? opendir(folder) : NULL;
    for (struct dirent *entry; entries != NULL && !holds && (entry = readdir(entries)) != NULL;) {
        const ssize_t length = readlinkat(dirfd(entries), entry->d_name, link, sizeof link - 1);
        link[length > 0 ? length : 0] = '\0';
        holds = strcmp(link, wanted) == 0;
    }
    if (entries != NULL)
        closedir(entries);
    return holds;
}
