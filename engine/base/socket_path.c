/* A long path goes by way of /proc/self/fd, where the kernel follows the link to the directory. */
#include "engine/base/socket_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

cse_status cse_socket_path(const char *path, char name[CSE_SOCKET_PATH_BYTES], int *directory)
{
    char parent[PATH_MAX];
    size_t size = strlen(path);
    *directory = -1;
    if (size == 0 || size >= sizeof parent)
        return cse_fail(CSE_USAGE, "unix:%s: the path must have 1 to %zu characters", path,
                        sizeof parent - 1);
    if (size < CSE_SOCKET_PATH_BYTES) {
        memcpy(name, path, size + 1);
        return CSE_OK;
    }
    const char *slash = strrchr(path, '/');
    size_t length = slash == NULL ? 0 : (size_t)(slash - path);
    memcpy(parent, path, length);
    parent[length] = '\0';
    *directory = open(length > 0 ? parent : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (*directory < 0)
        return cse_fail(CSE_NO_INPUT, "unix:%s: %s", path, strerror(errno));
    int wanted = snprintf(name, CSE_SOCKET_PATH_BYTES, "/proc/self/fd/%d/%s", *directory,
                          slash == NULL ? path : slash + 1);
    if (slash != NULL && wanted < CSE_SOCKET_PATH_BYTES)
        return CSE_OK;
    close(*directory);
    *directory = -1;
    return cse_fail(CSE_USAGE, "unix:%s: the last part of the path has more than %d characters",
                    path, CSE_SOCKET_PATH_BYTES - 30);
}

bool cse_socket_is_served(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int directory = -1;
    if (cse_socket_path(path, address.sun_path, &directory) != CSE_OK)
        return false;
    const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const bool served =
        probe >= 0 && (connect(probe, (const struct sockaddr *)&address, sizeof address) == 0 ||
                       errno == EAGAIN); /* its queue is full */
    if (probe >= 0)
        close(probe);
    if (directory >= 0)
        close(directory);
    return served;
}
