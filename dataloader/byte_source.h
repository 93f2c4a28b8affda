/* Bytes of a data file, plain or compressed with gzip, read from front to back.
 *
 * Either form may have either name; zlib tells them apart by content. The caller says how much it
 * needs next, and memory grows with the content that is really there, so a corrupt header cannot
 * make it allocate more. */
#ifndef CSE_DATALOADER_BYTE_SOURCE_H
#define CSE_DATALOADER_BYTE_SOURCE_H

#include <stddef.h>

#include "csengine/status.h"

typedef struct cse_byte_source cse_byte_source;

/* Whether a file of this name exists. */
bool cse_byte_source_exists(const char *path);

/* Opens a regular file. CSE_NO_INPUT: it is missing or no regular file; CSE_PERMISSION; CSE_IO. */
cse_status cse_byte_source_open(const char *path, cse_byte_source **source);
void cse_byte_source_close(cse_byte_source **source);

/* Reads up to `size` bytes; fewer (`got`) only at the end of the content. A compressed stream
 * that is damaged or ends early fails with CSE_DATA, a failing device with CSE_IO. */
cse_status cse_byte_source_read(cse_byte_source *source, void *bytes, size_t size, size_t *got);

/* As above, into memory that grows with the content that is really there; the caller releases
 * `*bytes` with free(), also when `*got` < size. NULL when nothing was read. */
cse_status cse_byte_source_take(cse_byte_source *source, size_t size, unsigned char **bytes,
                                size_t *got);

#endif
