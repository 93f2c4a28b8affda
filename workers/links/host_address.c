/* Parsing, looking up and listening. A thread of a lookup and the one that waits for it share a
 * small block, which the last one frees: getaddrinfo cannot be stopped, and may need as long as
 * the name servers' time limits. */
#include "workers/links/host_address.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "engine/base/arena.h"

enum { BACKLOG = 128, OWNERS = 2, LOCAL_BYTES = sizeof((struct sockaddr_un *)0)->sun_path };

struct cse_address_lookup {
    cse_host_address address;
    cse_socket_addresses found;
    atomic_bool done;
    atomic_int owners;
};

static cse_status malformed(const char *text)
{
    return cse_fail_at(&(cse_error){ .status = CSE_CONFIG,
                                     .accepted = "accepted: 10.0.0.1:7000, [fd00::1]:7000 or "
                                                 "name:7000, with ports up to 65535" },
                       "\"%s\" is no address of a host", text);
}

static bool is_local(const char *name)
{
    return name[0] == '@';
}

cse_status cse_host_address_parse(const char *text, cse_host_address *address)
{
    if (is_local(text) && text[1] != '\0' && strlen(text) < LOCAL_BYTES) {
        *address = (cse_host_address){ .port = "" };
        memcpy(address->name, text, strlen(text));
        return CSE_OK;
    }
    const char *colon = strrchr(text, ':'), *name = text;
    size_t name_bytes = colon != NULL ? (size_t)(colon - text) : 0;
    if (colon == NULL || strlen(text) >= CSE_HOST_LINK_ADDRESS_BYTES)
        return malformed(text);
    if (text[0] == '[') {
        if (name_bytes < 3 || text[name_bytes - 1] != ']')
            return malformed(text);
        name++;
        name_bytes -= 2;
    }
    bool has_colon = memchr(name, ':', name_bytes) != NULL;
    if (has_colon != (name != text) || strcspn(name, "[]") < name_bytes)
        return malformed(text);
    size_t digits = strspn(colon + 1, "0123456789");
    if (digits == 0 || digits > 5 || colon[1 + digits] != '\0' || atoi(colon + 1) > 65535)
        return malformed(text);
    snprintf(address->name, sizeof address->name, "%.*s", (int)name_bytes, name);
    snprintf(address->port, sizeof address->port, "%.5s", colon + 1);
    return CSE_OK;
}

void cse_host_address_print(const cse_host_address *address, int port,
                            char text[CSE_HOST_LINK_ADDRESS_BYTES])
{
    bool brackets = strchr(address->name, ':') != NULL;
    if (is_local(address->name)) {
        snprintf(text, CSE_HOST_LINK_ADDRESS_BYTES, "%s", address->name);
        return;
    }
    snprintf(text, CSE_HOST_LINK_ADDRESS_BYTES, "%s%.*s%s:%d", brackets ? "[" : "",
             CSE_HOST_LINK_ADDRESS_BYTES - 10, address->name, brackets ? "]" : "", port);
}

/* In the abstract namespace a zero stands for the "@". */
static void find_local(const cse_host_address *address, cse_socket_addresses *found)
{
    struct sockaddr_un local = { .sun_family = AF_UNIX };
    const size_t bytes = strlen(address->name);
    memcpy(local.sun_path + 1, address->name + 1, bytes - 1);
    memcpy(&found->addresses[0], &local, sizeof local);
    found->sizes[0] = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + bytes);
    found->count = 1;
}

static bool look_up(const cse_host_address *address, int flags, cse_socket_addresses *found)
{
    if (is_local(address->name)) {
        find_local(address, found);
        return true;
    }
    const struct addrinfo hints = { .ai_family = AF_UNSPEC,
                                    .ai_socktype = SOCK_STREAM,
                                    .ai_flags = flags | AI_NUMERICSERV };
    struct addrinfo *list = NULL;
    const char *name = address->name[0] != '\0' ? address->name : NULL;
    if (getaddrinfo(name, address->port, &hints, &list) != 0)
        return false;
    found->count = 0;
    for (const struct addrinfo *a = list; a != NULL && found->count < CSE_HOST_ADDRESS_MOST;
         a = a->ai_next) {
        if (a->ai_addrlen > sizeof *found->addresses)
            continue;
        memcpy(&found->addresses[found->count], a->ai_addr, a->ai_addrlen);
        found->sizes[found->count++] = a->ai_addrlen;
    }
    freeaddrinfo(list);
    return found->count > 0;
}

bool cse_host_address_is_numeric(const cse_host_address *address, cse_socket_addresses *addresses)
{
    return look_up(address, AI_NUMERICHOST, addresses);
}

static void leave(cse_address_lookup *lookup)
{
    if (atomic_fetch_sub(&lookup->owners, 1) == 1)
        free(lookup);
}

static void *run_lookup(void *self)
{
    cse_address_lookup *lookup = self;
    if (!look_up(&lookup->address, 0, &lookup->found))
        lookup->found.count = 0;
    atomic_store(&lookup->done, true);
    leave(lookup);
    return NULL;
}

/* Signals are for the threads that were there before. */
cse_address_lookup *cse_address_lookup_begin(const cse_host_address *address)
{
    cse_address_lookup *lookup = cse_calloc(1, sizeof *lookup);
    pthread_t thread;
    sigset_t all, before;
    lookup->address = *address;
    atomic_init(&lookup->owners, OWNERS);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread, NULL, run_lookup, lookup);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) {
        free(lookup);
        return NULL;
    }
    pthread_detach(thread);
    return lookup;
}

bool cse_address_lookup_end(cse_address_lookup **lookup, cse_socket_addresses *addresses)
{
    if (!atomic_load(&(*lookup)->done))
        return false;
    if ((*lookup)->found.count > 0)
        *addresses = (*lookup)->found;
    cse_address_lookup_leave(lookup);
    return true;
}

void cse_address_lookup_leave(cse_address_lookup **lookup)
{
    if (*lookup != NULL)
        leave(*lookup);
    *lookup = NULL;
}

/* -1: not there. */
static int listen_at(const struct sockaddr *address, socklen_t size)
{
    const int on = 1, off = 0;
    int listener = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (listener < 0)
        return -1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address->sa_family == AF_INET6)
        setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(listener, address, size) == 0 && listen(listener, BACKLOG) == 0)
        return listener;
    int error = errno;
    close(listener);
    errno = error;
    return -1;
}

cse_status cse_host_address_listen(const cse_host_address *address, int *listener, int *port)
{
    cse_socket_addresses all = { 0 };
    struct sockaddr_storage own;
    socklen_t size = sizeof own;
    *listener = -1;
    if (!look_up(address, AI_PASSIVE, &all))
        return cse_fail(CSE_UNAVAILABLE, "the address of this host, \"%s\", is not known here",
                        address->name);
    /* Of the wildcards the one for both versions of IP stands behind. */
    for (int i = all.count - 1; i >= 0 && *listener < 0; i--)
        *listener = listen_at((const struct sockaddr *)&all.addresses[i], all.sizes[i]);
    *port = 0;
    if (*listener >= 0 && is_local(address->name))
        return CSE_OK;
    if (*listener < 0)
        return cse_fail_at(&(cse_error){ .status = CSE_UNAVAILABLE,
                                         .hint = "choose an address of this host, and a port that "
                                                 "no other program uses" },
                           "cannot listen at %s port %s: %s",
                           address->name[0] != '\0' ? address->name : "any address,", address->port,
                           strerror(errno));
    getsockname(*listener, (struct sockaddr *)&own, &size);
    *port = ntohs(own.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&own)->sin6_port
                                            : ((struct sockaddr_in *)&own)->sin_port);
    return CSE_OK;
}
