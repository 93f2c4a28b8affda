/* Disjoint sets of the numbers from 0 on: which of them belong together, joined two at a time. */
#ifndef CSE_BASE_UNION_FIND_H
#define CSE_BASE_UNION_FIND_H

/* `count` sets of one number each: the parent of each number, a root's own number. Freed with
 * free. */
int *cse_union_find_new(int count);

/* The number that stands for the set of `item`. */
int cse_union_find_root(int *parents, int item);

/* Joins the set of `item` to that of `into`, whose root stands for both. */
void cse_union_find_join(int *parents, int item, int into);

#endif
