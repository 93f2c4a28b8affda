/* Writes a tensor, row by row, to a file of NumPy's format 1.0. */
#ifndef CSE_DATALOADER_FORMATS_NPY_WRITER_H
#define CSE_DATALOADER_FORMATS_NPY_WRITER_H

#include "csengine/tensor.h"

typedef struct cse_npy_writer cse_npy_writer;

/* A new file at `path`, which is there once the writer is closed: [rows, row...], float32 or int32.
 * CSE_CANNOT_CREATE where it cannot be. */
cse_status cse_npy_writer_open(const char *path, cse_shape row, cse_dtype dtype,
                               cse_npy_writer **writer);
cse_status cse_npy_writer_add(cse_npy_writer *writer, const void *rows, int64_t count);
/* Puts the file in its place if `status` is CSE_OK; else removes it. Returns the first failure. */
cse_status cse_npy_writer_close(cse_npy_writer **writer, cse_status status);

#endif
