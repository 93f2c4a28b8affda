/* One byte with one descriptor (SCM_RIGHTS) is a whole message of a SOCK_SEQPACKET socket. */
#include "workers/arena/kept_arena.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A message of one byte, with room for one descriptor. */
typedef struct descriptor_message {
    char byte;
    struct iovec part;
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    struct msghdr header;
} descriptor_message;

static void prepare(descriptor_message *m)
{
    memset(m, 0, sizeof *m);
    m->part = (struct iovec){ .iov_base = &m->byte, .iov_len = 1 };
    m->header = (struct msghdr){ .msg_iov = &m->part,
                                 .msg_iovlen = 1,
                                 .msg_control = m->control,
                                 .msg_controllen = sizeof m->control };
}

static bool send_to(int socket, int descriptor)
{
    descriptor_message m;
    prepare(&m);
    struct cmsghdr *rights = CMSG_FIRSTHDR(&m.header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof descriptor);
    memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
    return sendmsg(socket, &m.header, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
}

/* -1 when nothing waits there. */
static int receive_from(int socket, int flags)
{
    descriptor_message m;
    int descriptor = -1;
    prepare(&m);
    if (recvmsg(socket, &m.header, flags | MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != 1)
        return -1;
    const struct cmsghdr *rights = CMSG_FIRSTHDR(&m.header);
    if (rights != NULL && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS &&
        rights->cmsg_len == CMSG_LEN(sizeof descriptor))
        memcpy(&descriptor, CMSG_DATA(rights), sizeof descriptor);
    return descriptor;
}

static void empty(int socket)
{
    for (int descriptor; (descriptor = receive_from(socket, 0)) >= 0;)
        close(descriptor);
}

bool cse_kept_arena_open(cse_kept_arena *kept)
{
    bool opened = true;
    atomic_init(&kept->kept, 0);
    for (int i = 0; i < 2; i++)
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, kept->sockets[i]) != 0) {
            kept->sockets[i][0] = kept->sockets[i][1] = -1;
            opened = false;
        }
    return opened;
}

void cse_kept_arena_close(cse_kept_arena *kept)
{
    for (int i = 0; i < 4; i++)
        if (kept->sockets[i / 2][i % 2] >= 0)
            close(kept->sockets[i / 2][i % 2]);
}

bool cse_kept_arena_put(cse_kept_arena *kept, int descriptor)
{
    const int before = atomic_load(&kept->kept);
    const int next = before == 1 ? 2 : 1;
    /* A process that was killed here may have left its arena in the socket that does not count. */
    empty(kept->sockets[next - 1][1]);
    const bool sent = send_to(kept->sockets[next - 1][0], descriptor);
    atomic_store(&kept->kept, sent ? next : 0);
    if (before != 0)
        empty(kept->sockets[before - 1][1]);
    return sent;
}

int cse_kept_arena_get(cse_kept_arena *kept)
{
    const int which = atomic_load(&kept->kept);
    return which != 0 ? receive_from(kept->sockets[which - 1][1], MSG_PEEK) : -1;
}

void cse_kept_arena_drop(cse_kept_arena *kept)
{
    atomic_store(&kept->kept, 0);
    for (int i = 0; i < 2; i++)
        empty(kept->sockets[i][1]);
}
