/* A small file that is read whole, into memory that is used again. */
#ifndef CSE_DATALOADER_FILES_WHOLE_FILE_H
#define CSE_DATALOADER_FILES_WHOLE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "csengine/status.h"

/* Start from a zeroed struct. */
typedef struct cse_whole_file {
    unsigned char *bytes;
    size_t size, capacity;
} cse_whole_file;

/* CSE_DATA beyond `most` bytes. */
cse_status cse_whole_file_read(cse_whole_file *file, const char *path, int64_t most);
void cse_whole_file_clear(cse_whole_file *file);

#endif
