/* Host k of n has chunks [k * chunks / n, (k + 1) * chunks / n). */
#include "workers/hosts/state_cut.h"

#include <assert.h>

int cse_state_copies(const cse_host_set *hosts, int wanted)
{
    const int count = cse_hosts_count(hosts);
    return wanted < count ? wanted : count;
}

/* The host with `before` others of the set before it. */
static int member(const cse_host_set *hosts, int before)
{
    int h = 0;
    for (; h < CSE_MAX_HOSTS; h++)
        if (cse_hosts_have(hosts, h) && before-- == 0)
            break;
    return h;
}

int cse_state_owner(const cse_host_set *hosts, int chunks, int chunk, int copy)
{
    const int64_t count = cse_hosts_count(hosts);
    assert(count > 0 && chunk >= 0 && chunk < chunks && copy >= 0);
    /* The last k with k * chunks / count <= chunk. */
    const int64_t place = ((chunk + 1) * count - 1) / chunks;
    return member(hosts, (int)((place + copy) % count));
}
