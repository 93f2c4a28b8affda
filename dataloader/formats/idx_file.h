/* idx files of bytes: the format of the MNIST family (Y. LeCun, "The MNIST database").
 *
 * Big-endian: two zero bytes, the type (0x08 is unsigned byte), the number of dimensions, each
 * dimension as 32 bits, then the values, the last dimension fastest. The header's sizes are
 * not trusted: memory is allocated as content is read. */
#ifndef CSE_DATALOADER_FORMATS_IDX_FILE_H
#define CSE_DATALOADER_FORMATS_IDX_FILE_H

#include <stdint.h>

#include "csengine/status.h"

enum { CSE_IDX_MAX_RANK = 4 };

typedef struct cse_idx_file {
    int rank;
    int64_t dims[CSE_IDX_MAX_RANK];
    int64_t size_bytes;    /* product of dims */
    unsigned char *values; /* dims[0] is the sample */
} cse_idx_file;

/* Reads the file, plain or gzip, whole. It must have `rank` dimensions (1 to CSE_IDX_MAX_RANK),
 * each at least 1, and exactly as many values as these say. CSE_DATA names file, offset, what
 * was expected and what stands there; CSE_NO_INPUT, CSE_PERMISSION and CSE_IO as in
 * cse_byte_source_open. The caller releases the values with cse_idx_file_clear. */
cse_status cse_idx_file_load(const char *path, int rank, cse_idx_file *file);
void cse_idx_file_clear(cse_idx_file *file);

#endif
