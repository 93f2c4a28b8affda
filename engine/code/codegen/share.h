/* Writes functions of groups that differ only in numbers that are passed to them once.
 *
 * A model's layers are alike, and so are the updates of its parameters: their groups give the same
 * C except for the numbers of nodes and for the numbers of this table, each of which becomes an
 * element of the parameter `places`:
 *
 *   CSE_PLACE(float, CSE_AT_REPLICA, 64, 400)   the offset of a stored value of 400 bytes
 *   kernels[3]                                  a library kernel
 *   CSE_TRACKED(7)                              a tensor that statistics are taken of
 *   CSE_STREAM(123)                             a stream of random numbers
 *
 * The text of each group is compared with those numbers removed, and the first of each kind is
 * written. What every group passes is the program (program.h). So the file's size and its compile
 * time grow with the kinds of layers, not their number. */
#ifndef CSE_CODEGEN_SHARE_H
#define CSE_CODEGEN_SHARE_H

#include "engine/code/codegen/program.h"

typedef struct cse_sharer cse_sharer;

/* Fills `program`, which is empty, for groups [0, group_count). */
cse_sharer *cse_sharer_new(cse_program *program, int group_count);
void cse_sharer_destroy(cse_sharer **sharer);

/* Adds the functions of the next group (group_7, group_7_statistics, update_7, values_7,
 * proposed_7). True when they are the first of their kind: the text's memory is then taken over,
 * and cse_sharer_comment says what the function is for. */
bool cse_sharer_add_take(cse_sharer *sharer, int group, cse_text *functions);
void cse_sharer_comment_take(cse_sharer *sharer, cse_text *comment);
/* Writes the functions and the table of them. */
void cse_sharer_print(const cse_sharer *sharer, cse_text *out);

#endif
