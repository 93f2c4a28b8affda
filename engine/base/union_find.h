/* Disjoint sets (union-find) of the numbers 0, 1, ... */
#ifndef CSE_BASE_UNION_FIND_H
#define CSE_BASE_UNION_FIND_H

/* `count` sets of one number each, as an array of parents in which a root is its own parent. Freed
 * with free. */
int *cse_union_find_new(int count);

/* The representative of the set of `item`. */
int cse_union_find_root(int *parents, int item);

/* Merges the set of `item` into that of `into`, whose representative stays. */
void cse_union_find_join(int *parents, int item, int into);

#endif
