/* A checkpoint in memory that two processes share: one fills it, another one writes the file.
 *
 * It is one memfd (or a file): a head of fixed size, the elements, then the table of tensors and
 * their texts. The writer maps it read-only, and leaves what came of it in the head. It counts
 * only when the writer has ended by itself: one that was killed may leave a part. Elements are put
 * by write(2), which reports missing memory as an error and touches no page twice. */
#ifndef CSE_CHECKPOINT_SHARED_CHECKPOINT_H
#define CSE_CHECKPOINT_SHARED_CHECKPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/formats/checkpoint/shared_layout.h"

typedef struct cse_shared_checkpoint cse_shared_checkpoint;

/* ---- of the process that fills it ---- */

/* CSE_TEMPORARY when memory or descriptors are missing; so do the next two. */
cse_status cse_shared_checkpoint_new(cse_shared_checkpoint **shared);
/* In a file without a name in `directory` in place of memory, for what is larger than that. */
cse_status cse_shared_checkpoint_new_in(const char *directory, cse_shared_checkpoint **shared);
void cse_shared_checkpoint_destroy(cse_shared_checkpoint **shared);

/* Adds elements; `offset` says where they lie. */
cse_status cse_shared_checkpoint_put(cse_shared_checkpoint *shared, const void *values,
                                     size_t bytes, uint64_t *offset);
/* After the last elements of training: maps them, for cse_shared_checkpoint_at_view. */
cse_status cse_shared_checkpoint_map(cse_shared_checkpoint *shared);
/* Borrowed, read-only, until it is destroyed. */
const void *cse_shared_checkpoint_at_view(const cse_shared_checkpoint *shared, uint64_t offset);
bool cse_shared_checkpoint_has(const cse_shared_checkpoint *shared, const void *values);

/* Completes it: the tensors whose elements lie elsewhere are added, and the facts. */
cse_status cse_shared_checkpoint_finish(cse_shared_checkpoint *shared,
                                        const cse_checkpoint *checkpoint, const char *path);
int cse_shared_checkpoint_descriptor(const cse_shared_checkpoint *shared);
/* Of all that was put. */
uint64_t cse_shared_checkpoint_bytes(const cse_shared_checkpoint *shared);

/* What the writer left; false: nothing whole. */
bool cse_shared_checkpoint_outcome(const cse_shared_checkpoint *shared,
                                   cse_shared_outcome *outcome);

/* ---- of the process that writes ---- */

/* Writes the file of the shared checkpoint behind the descriptor. The exit code of the process:
 * zero where an outcome stands in the memory, good or bad. */
int cse_shared_checkpoint_write(int descriptor);

/* The same into a file that is open and empty, which whoever made the memory names and confirms. */
int cse_shared_checkpoint_fill(int descriptor, int file);

#endif
