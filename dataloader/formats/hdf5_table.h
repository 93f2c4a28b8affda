/* One dataset of whole numbers or floats in an HDF5 file of somebody else's, read row by row.
 *
 * What would reach beyond the file is refused: links to other files, data in other files, virtual
 * datasets, and filters that HDF5 would load from elsewhere. */
#ifndef CSE_DATALOADER_FORMATS_HDF5_TABLE_H
#define CSE_DATALOADER_FORMATS_HDF5_TABLE_H

#include <stdint.h>

#include "csengine/tensor.h"
#include "dataloader/formats/npy_file.h"

typedef struct cse_hdf5_table cse_hdf5_table;

/* `descriptor` is borrowed and must stay open as long as the table. CSE_DATA says what of the
 * dataset `name` is not accepted. `path` is kept. */
cse_status cse_hdf5_table_open(int descriptor, const char *path, const char *name,
                               cse_hdf5_table **table);
void cse_hdf5_table_close(cse_hdf5_table **table);

cse_shape cse_hdf5_table_shape(const cse_hdf5_table *table);
/* A block of rank's starts and counts, as int32 or float32. */
cse_status cse_hdf5_table_read(const cse_hdf5_table *table, const int64_t *starts,
                               const int64_t *counts, cse_dtype dtype, void *values);

/* Numbers that lie in the file as they are, one after another. */
typedef struct cse_hdf5_piece {
    cse_npy_header numbers; /* kind and size; in the order of this machine */
    int64_t offset, count;
} cse_hdf5_piece;
/* Whether such a block is one piece of the file that becomes int32 or float32 without a loss: then
 * the caller may read it without the library. */
bool cse_hdf5_table_place(const cse_hdf5_table *table, const int64_t *starts, const int64_t *counts,
                          cse_dtype dtype, cse_hdf5_piece *piece);

#endif
