/* Working memory that the kernels of one executable share.
 *
 * A step runs a hundred products one after another; with separate memory for each, every one would
 * start with a cold cache. An executable runs on one thread at a time, so one kernel at a time uses
 * the scratch memory of its graph. */
#ifndef CSE_KERNELS_SCRATCH_H
#define CSE_KERNELS_SCRATCH_H

#include <stddef.h>

typedef struct cse_scratch cse_scratch;

/* The scratch memory of `owner` (a graph), of at least `bytes`. Its content lasts for one run of a
 * kernel. Must not be called while a kernel of the same owner runs: the memory may move. */
cse_scratch *cse_scratch_share(const void *owner, size_t bytes);
void cse_scratch_release(cse_scratch **scratch);

/* How large it is now; 0: nobody uses it. */
size_t cse_scratch_bytes(const void *owner);

/* Aligned to 64 bytes; valid until the next cse_scratch_share. */
void *cse_scratch_view(const cse_scratch *scratch);

#endif
