/* Union-find with path halving. */
#include "engine/base/union_find.h"

#include "engine/base/arena.h"

int *cse_union_find_new(int count)
{
    int *parents = cse_calloc((size_t)count + 1, sizeof *parents);
    for (int i = 0; i < count; i++)
        parents[i] = i;
    return parents;
}

int cse_union_find_root(int *parents, int item)
{
    while (parents[item] != item)
        item = parents[item] = parents[parents[item]];
    return item;
}

void cse_union_find_join(int *parents, int item, int into)
{
    parents[cse_union_find_root(parents, item)] = cse_union_find_root(parents, into);
}
