/* One data file: its facts as the system tells them, and the digest of its content. */
#ifndef CSE_DATALOADER_DATA_FILE_H
#define CSE_DATALOADER_DATA_FILE_H

#include "dataloader/data_identity.h"

/* Size, times and inode of an open file; the digest and the path stay empty. */
cse_status cse_data_file_examine(int descriptor, const char *path, cse_data_file *file);
/* Whether size, times and inode are the same. */
bool cse_data_file_same_facts(const cse_data_file *a, const cse_data_file *b);
/* Fills in the digest. Reads at positions of its own: the descriptor's does not move. */
cse_status cse_data_file_digest(int descriptor, const char *path, cse_data_file *file);

/* The same by way of the cache: a digest that was taken of the file as it is now is taken from
 * there. `cache` NULL: none. What cannot be read or written there is left out. */
cse_status cse_data_file_cached_digest(int descriptor, const char *path, const char *cache,
                                       cse_data_file *file);

#endif
