/* Writes functions of groups that differ only in the places of their values once.
 *
 * A model's layers are alike, and so are the updates of its parameters: their groups give the same
 * C except for the numbers of nodes, the offsets of CSE_PLACE and the number of a kernel. The text
 * of each group is compared with those numbers removed. The first of each kind that occurs more
 * than once is written with a parameter `places` for the offsets; every group keeps its own name as
 * a call of it. So the file's size and its compile time grow with the kinds of layers, not their
 * number. */
#ifndef CSE_CODEGEN_SHARE_H
#define CSE_CODEGEN_SHARE_H

#include "engine/base/text.h"

typedef struct cse_sharer cse_sharer;

/* For groups [0, group_count). */
cse_sharer *cse_sharer_new(int group_count);
void cse_sharer_destroy(cse_sharer **sharer);

/* Adds a group's comment and functions (group_7, group_7_statistics, update_7, values_7), taking
 * ownership of the texts' memory. Each group is added once. */
void cse_sharer_add_take(cse_sharer *sharer, int group, cse_text *comment, cse_text *functions);
/* Writes them all, in order. */
void cse_sharer_print(const cse_sharer *sharer, cse_text *out);

#endif
