/* Working memory that the kernels of one executable share.
 *
 * A step has a hundred products and runs them one after another: with a place of its own for each,
 * every one would begin in cold memory. An executable runs on one thread at a time, so that the
 * scratch of its graph is used by one kernel at a time. */
#ifndef CSE_KERNELS_SCRATCH_H
#define CSE_KERNELS_SCRATCH_H

#include <stddef.h>

typedef struct cse_scratch cse_scratch;

/* The scratch of `owner` (a graph), at least `bytes` large. The content lasts for one run of a
 * kernel. Not while a kernel of the same owner runs: the place may move. */
cse_scratch *cse_scratch_share(const void *owner, size_t bytes);
void cse_scratch_release(cse_scratch **scratch);

/* Aligned to 64 bytes; stays where it is until the next cse_scratch_share. */
void *cse_scratch_view(const cse_scratch *scratch);

#endif
