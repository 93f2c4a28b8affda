/* Loops over the words. */
#include "workers/hosts/host_set.h"

#include <assert.h>
#include <string.h>

_Static_assert(CSE_MAX_HOSTS % 64 == 0, "whole words");

cse_host_set cse_hosts_first(int count)
{
    cse_host_set set = { { 0 } };
    assert(count >= 0 && count <= CSE_MAX_HOSTS);
    for (int h = 0; h < count; h++)
        cse_hosts_add(&set, h);
    return set;
}

int cse_hosts_count(const cse_host_set *set)
{
    int count = 0;
    for (int i = 0; i < CSE_HOST_SET_WORDS; i++)
        count += __builtin_popcountll(set->words[i]);
    return count;
}

int cse_hosts_before(const cse_host_set *set, int host)
{
    int count = 0;
    for (int i = 0; i < host / 64; i++)
        count += __builtin_popcountll(set->words[i]);
    if (host % 64 != 0)
        count += __builtin_popcountll(set->words[host / 64] & ((UINT64_C(1) << (host % 64)) - 1));
    return count;
}

bool cse_hosts_equal(const cse_host_set *a, const cse_host_set *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

bool cse_hosts_have_data(const cse_host_set *data_hosts, int host)
{
    return cse_hosts_count(data_hosts) == 0 || cse_hosts_have(data_hosts, host);
}

bool cse_hosts_meet(const cse_host_set *a, const cse_host_set *b)
{
    for (int i = 0; i < CSE_HOST_SET_WORDS; i++)
        if ((a->words[i] & b->words[i]) != 0)
            return true;
    return false;
}

void cse_hosts_encode(const cse_host_set *set, unsigned char bytes[CSE_HOST_SET_BYTES])
{
    for (int i = 0; i < CSE_HOST_SET_BYTES; i++)
        bytes[i] = (unsigned char)(set->words[i / 8] >> (8 * (i % 8)));
}

cse_host_set cse_hosts_decode(const unsigned char bytes[CSE_HOST_SET_BYTES])
{
    cse_host_set set = { { 0 } };
    for (int i = 0; i < CSE_HOST_SET_BYTES; i++)
        set.words[i / 8] |= (uint64_t)bytes[i] << (8 * (i % 8));
    return set;
}
