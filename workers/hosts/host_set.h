/* A set of hosts by their numbers, 0 to CSE_MAX_HOSTS - 1, as a value. */
#ifndef CSE_WORKERS_HOSTS_HOST_SET_H
#define CSE_WORKERS_HOSTS_HOST_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "workers/links/link.h"

enum {
    CSE_HOST_SET_WORDS = CSE_MAX_HOSTS / 64,
    CSE_HOST_SET_BYTES = CSE_MAX_HOSTS / 8,
};

typedef struct cse_host_set {
    uint64_t words[CSE_HOST_SET_WORDS];
} cse_host_set;

/* Hosts 0 to count - 1. */
cse_host_set cse_hosts_first(int count);

int cse_hosts_count(const cse_host_set *set);
/* Members with a lower number than `host`. */
int cse_hosts_before(const cse_host_set *set, int host);
bool cse_hosts_equal(const cse_host_set *a, const cse_host_set *b);
/* Whether the host is one of those that have the data; of an empty set: all hosts have them. */
bool cse_hosts_have_data(const cse_host_set *data_hosts, int host);
bool cse_hosts_meet(const cse_host_set *a, const cse_host_set *b);

/* On the wire: bit h % 8 of byte h / 8 is host h. */
void cse_hosts_encode(const cse_host_set *set, unsigned char bytes[CSE_HOST_SET_BYTES]);
cse_host_set cse_hosts_decode(const unsigned char bytes[CSE_HOST_SET_BYTES]);

static inline bool cse_hosts_have(const cse_host_set *set, int host)
{
    return (set->words[host / 64] >> (host % 64) & 1) != 0;
}

static inline void cse_hosts_add(cse_host_set *set, int host)
{
    set->words[host / 64] |= UINT64_C(1) << (host % 64);
}

static inline void cse_hosts_remove(cse_host_set *set, int host)
{
    set->words[host / 64] &= ~(UINT64_C(1) << (host % 64));
}

#endif
