/* Numbers found by name, so that thousands of names can be told apart without comparing each with
 * all. */
#ifndef CSE_BASE_NAME_INDEX_H
#define CSE_BASE_NAME_INDEX_H

#include <stdint.h>

/* Start from a zeroed struct and release with cse_name_index_clear. */
typedef struct cse_name_index {
    struct cse_name_entry *entries; /* a hash table */
    int count, capacity;
} cse_name_index;

/* The number of a name; -1: it was not added. */
int cse_name_index_find(const cse_name_index *index, const char *name);
/* Adds a name that is not there; it is borrowed. `number` is at least 0. */
void cse_name_index_add(cse_name_index *index, const char *name, int number);
void cse_name_index_clear(cse_name_index *index);

#endif
