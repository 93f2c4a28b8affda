/* Equal shares, in the order of the hosts' numbers. */
#include "workers/hosts/host_cut.h"

#include <assert.h>

#include "workers/hosts/reduction_tree.h"

void cse_host_cut_even(int microbatches, int host_count, const cse_host_set *present,
                       cse_host_cut *cut)
{
    const int shares = cse_hosts_count(present);
    assert(microbatches >= 1 && host_count >= 1 && host_count <= CSE_MAX_HOSTS && shares >= 1);
    *cut = (cse_host_cut){ .host_count = host_count };
    for (int h = 0, share = 0; h < host_count; h++) {
        share += cse_hosts_have(present, h);
        cut->bounds[h + 1] = (int32_t)((int64_t)microbatches * share / shares);
    }
    assert(cut->bounds[host_count] == microbatches);
}

int cse_host_cut_of(const cse_host_cut *cut, int microbatch)
{
    int host = 0;
    assert(microbatch >= 0 && microbatch < cut->bounds[cut->host_count]);
    while (cut->bounds[host + 1] <= microbatch)
        host++;
    return host;
}

int cse_host_cut_pieces(const cse_host_cut *cut, int host)
{
    int pieces = 0;
    for (int at = cut->bounds[host]; at < cut->bounds[host + 1]; pieces++)
        at = cse_tree_next(cut->bounds[cut->host_count], at, cut->bounds[host + 1]);
    return pieces;
}
