/* A file that keeps the digests of large data files, so that they are taken once. */
#ifndef CSE_DATALOADER_IDENTITY_DATA_CACHE_H
#define CSE_DATALOADER_IDENTITY_DATA_CACHE_H

#include "dataloader/identity/data_file.h"

/* Fills in the digest of an open file that was examined: that of the cache, where it was taken of
 * the file as it is now. `cache` NULL: none. What cannot be read or written there is left out. */
cse_status cse_data_cached_digest(int descriptor, const char *path, const char *cache,
                                  cse_data_file *file);

#endif
