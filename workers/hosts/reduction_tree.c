/* Everything about the tree is computed from the number of microbatches; nothing is stored. */
#include "workers/hosts/reduction_tree.h"

#include <assert.h>

/* Largest power of two below n, n > 1. */
static int split_of(int n)
{
    assert(n > 1);
    return 1 << (31 - __builtin_clz((unsigned)(n - 1)));
}

int cse_tree_places(int microbatches)
{
    return microbatches > 1 ? 4 * split_of(microbatches) : 2;
}

int cse_tree_depth(int microbatches)
{
    int depth = 1;
    while (microbatches > 1) {
        microbatches = split_of(microbatches);
        depth++;
    }
    return depth;
}

cse_tree_node cse_tree_left(cse_tree_node node)
{
    return (
        cse_tree_node){ .heap = 2 * node.heap, .first = node.first, .size = split_of(node.size) };
}

cse_tree_node cse_tree_right(cse_tree_node node)
{
    int split = split_of(node.size);
    return (cse_tree_node){ .heap = 2 * node.heap + 1,
                            .first = node.first + split,
                            .size = node.size - split };
}

bool cse_tree_find(int microbatches, int heap, cse_tree_node *node)
{
    if (heap < 1 || heap >= cse_tree_places(microbatches))
        return false;
    cse_tree_node at = cse_tree_root(microbatches);
    for (int bit = 31 - __builtin_clz((unsigned)heap) - 1; bit >= 0; bit--) {
        if (at.size == 1)
            return false;
        at = heap >> bit & 1 ? cse_tree_right(at) : cse_tree_left(at);
    }
    *node = at;
    return true;
}

void cse_tree_share(int microbatches, int replicas, int replica, int *first, int *end)
{
    assert(replica >= 0 && replica < replicas);
    *first = (int)((int64_t)replica * microbatches / replicas);
    *end = (int)((int64_t)(replica + 1) * microbatches / replicas);
}

static int add_cover(cse_tree_node node, int first, int end, cse_tree_node *nodes)
{
    if (node.first >= end || node.first + node.size <= first)
        return 0;
    if (node.first >= first && node.first + node.size <= end) {
        nodes[0] = node;
        return 1;
    }
    int count = add_cover(cse_tree_left(node), first, end, nodes);
    return count + add_cover(cse_tree_right(node), first, end, nodes + count);
}

int cse_tree_cover(int microbatches, int first, int end, cse_tree_node *nodes)
{
    return first < end ? add_cover(cse_tree_root(microbatches), first, end, nodes) : 0;
}

/* The largest node that begins at `first` has as many microbatches as the lowest bit of `first`, or
 * all that are left; its left descendants have the powers of two below. */
int cse_tree_next(int microbatches, int first, int end)
{
    assert(first >= 0 && first < end && end <= microbatches);
    if (end == microbatches && (first == 0 || (first & -first) >= microbatches - first))
        return microbatches;
    const int fits = 1 << (31 - __builtin_clz((unsigned)(end - first)));
    return first + (first == 0 || fits < (first & -first) ? fits : first & -first);
}
