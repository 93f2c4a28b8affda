/* Which host of a list this one is, and the reading of host files: what asks the system.
 *
 * A name that is equal decides first, then one that differs by its domain alone (Slurm lists short
 * names where gethostname gives full ones, or the other way round), then an address. Where two of
 * the list fit equally well there is no answer: a wrong one would have two hosts do the same part.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "workers/hosts/host_list.h"

enum { MAX_ADDRESSES = 256 };

static bool is_address(const char *name)
{
    unsigned char bytes[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, name, bytes) == 1 || inet_pton(AF_INET6, name, bytes) == 1;
}

static bool same_address(const char *a, const char *b)
{
    static const int families[] = { AF_INET, AF_INET6 };
    for (int i = 0; i < 2; i++) {
        unsigned char of_a[sizeof(struct in6_addr)] = { 0 }, of_b[sizeof(struct in6_addr)] = { 0 };
        if (inet_pton(families[i], a, of_a) == 1 && inet_pton(families[i], b, of_b) == 1)
            return memcmp(of_a, of_b, sizeof of_a) == 0;
    }
    return false;
}

static bool same_name(const char *a, const char *b)
{
    return strcasecmp(a, b) == 0;
}

/* One of them has no domain, and the rest is equal: "n1" and "n1.cluster" but not two domains. */
static bool same_short_name(const char *a, const char *b)
{
    const size_t length_a = strcspn(a, "."), length_b = strcspn(b, ".");
    return length_a == length_b && strncasecmp(a, b, length_a) == 0 &&
           (a[length_a] == 0 || b[length_b] == 0) && !is_address(a) && !is_address(b);
}

static bool fits(const cse_own_names *own, int rule, const char *name)
{
    if (rule == 0)
        return same_name(own->name, name);
    if (rule == 1)
        return same_short_name(own->name, name);
    for (const char *const *address = own->addresses; *address != NULL; address++)
        if (same_address(*address, name))
            return true;
    return false;
}

static cse_status not_in_list(const cse_host_list *list, const char *own)
{
    char names[400] = "";
    for (int i = 0; i < list->count; i++) {
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "", list->hosts[i].name);
    }
    return cse_fail(CSE_CONFIG,
                    "hosts: this host, %s, is not in the list %s; start on one of these, or give "
                    "the name or an address of this host",
                    own, names);
}

/* CSE_OK with *host = -1 when none fits. */
static cse_status match(const cse_host_list *list, const cse_own_names *own, int *host)
{
    *host = -1;
    for (int rule = 0; rule < 3 && *host < 0; rule++)
        for (int i = 0; i < list->count; i++) {
            if (!fits(own, rule, list->hosts[i].name))
                continue;
            if (*host >= 0)
                return cse_fail(CSE_CONFIG,
                                "hosts: %s and %s of the list are both this host, %s; name it once",
                                list->hosts[*host].name, list->hosts[i].name, own->name);
            *host = i;
        }
    return CSE_OK;
}

cse_status cse_host_list_match(const cse_host_list *list, const cse_own_names *own, int *host)
{
    CSE_TRY(match(list, own, host));
    return *host >= 0 ? CSE_OK : not_in_list(list, own->name);
}

/* The number of an address as text. False for a family that is no address of a host. */
static bool address_text(const struct sockaddr *address, char text[INET6_ADDRSTRLEN])
{
    if (address == NULL)
        return false;
    if (address->sa_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, address, sizeof v4);
        return inet_ntop(AF_INET, &v4.sin_addr, text, INET6_ADDRSTRLEN) != NULL;
    }
    if (address->sa_family != AF_INET6)
        return false;
    struct sockaddr_in6 v6;
    memcpy(&v6, address, sizeof v6);
    return inet_ntop(AF_INET6, &v6.sin6_addr, text, INET6_ADDRSTRLEN) != NULL;
}

static void own_addresses(cse_arena *arena, const char *addresses[MAX_ADDRESSES + 1])
{
    int count = 0;
    struct ifaddrs *all = NULL;
    if (getifaddrs(&all) == 0)
        for (const struct ifaddrs *one = all; one != NULL && count < MAX_ADDRESSES;
             one = one->ifa_next) {
            char text[INET6_ADDRSTRLEN];
            if (address_text(one->ifa_addr, text))
                addresses[count++] = cse_arena_string(arena, text);
        }
    freeifaddrs(all);
    addresses[count] = NULL;
}

/* Whether the resolver knows the name as one of the own addresses. */
static bool resolves_here(const char *name, const cse_own_names *own)
{
    struct addrinfo *found = NULL;
    if (getaddrinfo(name, NULL, &(struct addrinfo){ .ai_socktype = SOCK_STREAM }, &found) != 0)
        return false;
    bool here = false;
    for (const struct addrinfo *one = found; one != NULL && !here; one = one->ai_next) {
        char text[INET6_ADDRSTRLEN];
        here = address_text(one->ai_addr, text) && fits(own, 2, text);
    }
    freeaddrinfo(found);
    return here;
}

static cse_status match_resolved(const cse_host_list *list, const cse_own_names *own, int *host)
{
    for (int i = 0; i < list->count; i++)
        if (!is_address(list->hosts[i].name) && resolves_here(list->hosts[i].name, own)) {
            *host = i;
            return CSE_OK;
        }
    return not_in_list(list, own->name);
}

cse_status cse_host_list_own(const cse_host_list *list, int *host)
{
    char name[HOST_NAME_MAX + 1] = "";
    if (gethostname(name, sizeof name - 1) != 0)
        return cse_fail(CSE_IO, "hosts: this host has no name: %s", strerror(errno));
    cse_arena *arena = cse_arena_new();
    const char *addresses[MAX_ADDRESSES + 1];
    own_addresses(arena, addresses);
    const cse_own_names own = { .name = name, .addresses = addresses };
    cse_status status = match(list, &own, host);
    if (status == CSE_OK && *host < 0)
        status = match_resolved(list, &own, host);
    cse_arena_destroy(&arena);
    return status;
}
