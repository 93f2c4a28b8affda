/* The digest of a range of states, of which those of update chunks are made (state_digests.h). */
#ifndef CSE_WORKERS_ARENA_RANGE_DIGEST_H
#define CSE_WORKERS_ARENA_RANGE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/* The digest of bytes as it enters that of a chunk. */
uint64_t cse_range_digest(const unsigned char *bytes, size_t size);
/* The same of a range that comes in parts, all but the last a multiple of CSE_RANGE_PART_BYTES. */
enum { CSE_RANGE_PART_BYTES = 256, CSE_RANGE_LANES = CSE_RANGE_PART_BYTES / 8 };
typedef struct cse_range_parts {
    uint64_t lanes[CSE_RANGE_LANES], rest[CSE_RANGE_LANES];
    size_t size;
} cse_range_parts;
void cse_range_begin(cse_range_parts *parts);
void cse_range_add(cse_range_parts *parts, const unsigned char *bytes, size_t size);
uint64_t cse_range_end(const cse_range_parts *parts);
/* The same of zeros, without reading any. */
uint64_t cse_zeros_digest(size_t size);

#endif
