/* The digest of a range of states, of which those of update chunks are made (state_digests.h). */
#ifndef CSE_WORKERS_ARENA_RANGE_DIGEST_H
#define CSE_WORKERS_ARENA_RANGE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/* The digest of bytes as it enters that of a chunk. */
uint64_t cse_range_digest(const unsigned char *bytes, size_t size);
/* The same of zeros, without reading any. */
uint64_t cse_zeros_digest(size_t size);

#endif
