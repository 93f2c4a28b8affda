/* Sockets with time limits. */
#include "run/loggers/plain_http.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LIMIT_MS = 10000, MOST_ANSWER_BYTES = 1 << 22 };

cse_status cse_http_place_read(const char *url, cse_http_place *place)
{
    static const char scheme[] = "http://";
    const char *host = url + sizeof scheme - 1;
    *place = (cse_http_place){ .port = "80" };
    const bool plain = strncmp(url, scheme, sizeof scheme - 1) == 0;
    const size_t length = plain ? strcspn(host, ":/") : 0;
    if (length == 0 || length >= sizeof place->host ||
        strspn(url, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:/._-~%") !=
            strlen(url))
        return cse_fail(CSE_CONFIG, "\"%.100s\": accepted is http://HOST:PORT", url);
    memcpy(place->host, host, length);
    const char *rest = host + length;
    if (*rest == ':') {
        const size_t digits = strspn(rest + 1, "0123456789");
        if (digits == 0 || digits > 5 || (rest[1 + digits] != '\0' && rest[1 + digits] != '/'))
            return cse_fail(CSE_CONFIG, "\"%.100s\": accepted is http://HOST:PORT", url);
        snprintf(place->port, sizeof place->port, "%.*s", (int)digits, rest + 1);
        rest += 1 + digits;
    }
    size_t path = strlen(rest);
    while (path > 0 && rest[path - 1] == '/')
        path--;
    if (path >= sizeof place->path)
        return cse_fail(CSE_CONFIG, "\"%.100s\": the path is too long", url);
    memcpy(place->path, rest, path);
    return CSE_OK;
}

void cse_http_link_cut(cse_http_link *link)
{
    pthread_mutex_lock(&link->lock);
    link->cut = true;
    if (link->socket >= 0)
        shutdown(link->socket, SHUT_RDWR);
    pthread_mutex_unlock(&link->lock);
}

/* Takes the descriptor, unless the link is cut. */
static bool hold(cse_http_link *link, int descriptor)
{
    pthread_mutex_lock(&link->lock);
    const bool held = !link->cut;
    link->socket = held ? descriptor : -1;
    pthread_mutex_unlock(&link->lock);
    return held;
}

static void let_go(cse_http_link *link)
{
    pthread_mutex_lock(&link->lock);
    link->socket = -1;
    pthread_mutex_unlock(&link->lock);
}

static bool waits(int descriptor, short events)
{
    struct pollfd one = { .fd = descriptor, .events = events };
    int ready;
    do
        ready = poll(&one, 1, LIMIT_MS);
    while (ready < 0 && errno == EINTR);
    if (ready == 0)
        errno = ETIMEDOUT;
    return ready > 0;
}

static bool connects(int descriptor, const struct addrinfo *at)
{
    int failure = 0;
    socklen_t size = sizeof failure;
    if (connect(descriptor, at->ai_addr, at->ai_addrlen) == 0)
        return true;
    if (errno != EINPROGRESS || !waits(descriptor, POLLOUT))
        return false;
    getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &failure, &size);
    errno = failure;
    return failure == 0;
}

static bool sends(int descriptor, const char *bytes, size_t size)
{
    while (size > 0) {
        const ssize_t sent =
            waits(descriptor, POLLOUT) ? send(descriptor, bytes, size, MSG_NOSIGNAL) : -1;
        if (sent < 0 && errno != EINTR && errno != EAGAIN)
            return false;
        bytes += sent > 0 ? sent : 0;
        size -= sent > 0 ? (size_t)sent : 0;
    }
    return true;
}

static bool receives(int descriptor, cse_text *text)
{
    char buffer[16384];
    while (text->size < MOST_ANSWER_BYTES) {
        const ssize_t got =
            waits(descriptor, POLLIN) ? recv(descriptor, buffer, sizeof buffer, 0) : -1;
        if (got == 0)
            return true;
        if (got < 0 && errno != EINTR && errno != EAGAIN)
            return false;
        if (got > 0)
            cse_text_add_bytes(text, buffer, (size_t)got);
    }
    return false;
}

static bool exchange(const cse_http_place *place, int descriptor, const cse_http_request *request,
                     cse_text *text)
{
    cse_text head = { 0 };
    cse_text_add(&head, "%s %s%s HTTP/1.0\r\nHost: %s:%s\r\nContent-Type: application/json\r\n",
                 request->method, place->path, request->path, place->host, place->port);
    if (request->token != NULL)
        cse_text_add(&head, "Authorization: Bearer %s\r\n", request->token);
    cse_text_add(&head, "Content-Length: %zu\r\n\r\n",
                 request->body != NULL ? request->body->size : 0);
    bool good =
        sends(descriptor, head.data, head.size) &&
        (request->body == NULL || sends(descriptor, request->body->data, request->body->size));
    cse_text_clear(&head);
    return good && receives(descriptor, text);
}

/* The code of "HTTP/1.1 200 OK"; 0: there is none. */
static int code_of(const cse_text *text)
{
    int code = 0;
    return text->size > 0 && sscanf(text->data, "HTTP/1.%*1d %3d", &code) == 1 ? code : 0;
}

cse_status cse_http_ask(const cse_http_place *place, cse_http_link *link,
                        const cse_http_request *request, int *code, cse_text *answer)
{
    struct addrinfo *found = NULL;
    const struct addrinfo wanted = { .ai_socktype = SOCK_STREAM };
    cse_text text = { 0 };
    bool good = false;
    *code = 0;
    const int failure = getaddrinfo(place->host, place->port, &wanted, &found);
    if (failure != 0)
        return cse_fail(CSE_UNAVAILABLE, "%s: %s", place->host, gai_strerror(failure));
    for (const struct addrinfo *at = found; at != NULL && !good; at = at->ai_next) {
        const int descriptor =
            socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        text.size = 0;
        good = descriptor >= 0 && hold(link, descriptor) && connects(descriptor, at) &&
               exchange(place, descriptor, request, &text);
        const int reason = errno;
        let_go(link);
        if (descriptor >= 0)
            close(descriptor);
        errno = reason;
    }
    const int reason = errno;
    freeaddrinfo(found);
    *code = good ? code_of(&text) : 0;
    const char *body = *code != 0 ? strstr(text.data, "\r\n\r\n") : NULL;
    if (body != NULL)
        cse_text_add_bytes(answer, body + 4, text.size - (size_t)(body + 4 - text.data));
    cse_text_clear(&text);
    return body != NULL ? CSE_OK
                        : cse_fail(CSE_UNAVAILABLE, "http://%s:%s: %s", place->host, place->port,
                                   good ? "the answer is no HTTP" : strerror(reason));
}
