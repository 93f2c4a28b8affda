/* Parsing an address and opening its socket. */
#include "dashboard/http/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "dashboard/access/access.h"
#include "engine/base/arena.h"
#include "engine/base/socket_path.h"

enum { BACKLOG = 512 };

static cse_status wrong(const char *listen)
{
    return cse_fail(CSE_USAGE,
                    "listen %s: accepted: 127.0.0.1:PORT, [::1]:PORT, localhost:PORT, ADDRESS:PORT "
                    "with a token file, unix:PATH; port 0 is any free one",
                    listen);
}

/* The place is free, or the socket of a server that has ended is removed from it. */
static cse_status clear_place(const struct sockaddr_un *address, const char *path)
{
    struct stat about;
    if (lstat(address->sun_path, &about) != 0)
        return CSE_OK;
    if (!S_ISSOCK(about.st_mode))
        return cse_fail(CSE_USAGE, "listen unix:%s: there is a file that is no socket", path);
    if (cse_socket_is_served(address->sun_path))
        return cse_fail(CSE_UNAVAILABLE, "listen unix:%s: another server listens there", path);
    unlink(address->sun_path);
    return CSE_OK;
}

/* The file gets the socket's own mode: nobody else can connect at any moment. */
static cse_status bind_unix(cse_listener *listener, const struct sockaddr_un *address,
                            const char *path)
{
    listener->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener->socket < 0 || fchmod(listener->socket, 0600) != 0 ||
        bind(listener->socket, (const struct sockaddr *)address, sizeof *address) != 0 ||
        listen(listener->socket, BACKLOG) != 0)
        return cse_fail(CSE_UNAVAILABLE, "listen unix:%s: %s", path, strerror(errno));
    listener->unix_path = cse_strdup(path);
    cse_text url = { 0 };
    cse_text_add(&url, "unix:%s", path);
    listener->url = url.data;
    return CSE_OK;
}

/* Two servers that begin at once look one after the other, at a file beside the socket that is
 * locked and removed again: a run holds the lock of its folder. */
static int lock_place(const char *lock_path)
{
    struct stat held, named;
    for (;;) {
        const int file = open(lock_path, O_CREAT | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (file < 0 || flock(file, LOCK_EX) != 0 || fstat(file, &held) != 0)
            return file;
        if (lstat(lock_path, &named) == 0 && held.st_ino == named.st_ino &&
            held.st_dev == named.st_dev)
            return file;
        close(file); /* the server before has removed it */
    }
}

static cse_status listen_unix(cse_listener *listener, const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int directory = -1;
    CSE_TRY(cse_socket_path(path, address.sun_path, &directory));
    cse_text lock_path = { 0 };
    cse_text_add(&lock_path, "%s.lock", path);
    const int lock = lock_place(lock_path.data);
    cse_status status = clear_place(&address, path);
    if (status == CSE_OK)
        status = bind_unix(listener, &address, path);
    if (lock >= 0) {
        unlink(lock_path.data);
        close(lock);
    }
    cse_text_clear(&lock_path);
    if (directory >= 0)
        close(directory);
    return status;
}

/* "[::1]:80" -> "::1" and "80". */
static bool split_address(const char *listen, char host[256], char port[8])
{
    const char *colon = strrchr(listen, ':');
    if (colon == NULL || strlen(colon + 1) > 5 || colon[1] == '\0' ||
        strspn(colon + 1, "0123456789") != strlen(colon + 1) || atoi(colon + 1) > 65535)
        return false;
    const char *begin = listen, *end = colon;
    if (*begin == '[') {
        if (end[-1] != ']')
            return false;
        begin++;
        end--;
    }
    if (end <= begin || end - begin > 255)
        return false;
    memcpy(host, begin, (size_t)(end - begin));
    host[end - begin] = '\0';
    snprintf(port, 8, "%s", colon + 1);
    return true;
}

static cse_status open_socket(cse_listener *listener, const struct addrinfo *found,
                              const char *listen_text)
{
    int yes = 1;
    listener->socket = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener->socket >= 0)
        setsockopt(listener->socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (listener->socket < 0 || bind(listener->socket, found->ai_addr, found->ai_addrlen) != 0 ||
        listen(listener->socket, BACKLOG) != 0)
        return cse_fail(errno == EACCES ? CSE_PERMISSION : CSE_UNAVAILABLE, "listen %s: %s",
                        listen_text, strerror(errno));
    return CSE_OK;
}

static cse_status name_address(cse_listener *listener)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    char host[256], port[8];
    if (getsockname(listener->socket, (struct sockaddr *)&address, &size) != 0 ||
        getnameinfo((struct sockaddr *)&address, size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return cse_fail(CSE_INTERNAL, "listen: the socket has no address");
    cse_text url = { 0 };
    bool six = strchr(host, ':') != NULL;
    listener->port = (unsigned)atoi(port);
    cse_text_add(&url, "http://%s%s%s:%s", six ? "[" : "", host, six ? "]" : "", port);
    listener->url = url.data;
    return CSE_OK;
}

cse_status cse_listen(const char *listen_text, bool has_token_file, cse_listener *listener)
{
    char host[256], port[8];
    *listener = (cse_listener){ .socket = -1 };
    if (strncmp(listen_text, "unix:", 5) == 0)
        return listen_unix(listener, listen_text + 5);
    if (!split_address(listen_text, host, port))
        return wrong(listen_text);
    if (!cse_address_is_loopback(host) && !has_token_file)
        return cse_fail(
            CSE_PERMISSION,
            "listen %s: other machines could reach this address, which takes a token that "
            "you have chosen; give --token_file FILE, or listen on 127.0.0.1",
            listen_text);
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
                                    .ai_flags = AI_PASSIVE | AI_NUMERICSERV };
    struct addrinfo *found = NULL;
    int code = getaddrinfo(host, port, &hints, &found);
    if (code != 0)
        return cse_fail(CSE_USAGE, "listen %s: %s", listen_text, gai_strerror(code));
    listener->host = cse_strdup(host);
    cse_status status = open_socket(listener, found, listen_text);
    freeaddrinfo(found);
    return status == CSE_OK ? name_address(listener) : status;
}

void cse_listener_clear(cse_listener *listener)
{
    if (listener->socket >= 0)
        close(listener->socket);
    if (listener->unix_path != NULL)
        unlink(listener->unix_path);
    free(listener->unix_path);
    free(listener->url);
    free(listener->host);
    *listener = (cse_listener){ .socket = -1 };
}
