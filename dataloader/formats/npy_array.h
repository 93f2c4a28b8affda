/* An array of NumPy from which rows are read in C order: a .npy file, or a member of an .npz
 * archive.
 *
 * Where rows stand in the file as they are wanted, they are read there when they are asked for. An
 * array in Fortran order, or one that is packed, is kept in memory. */
#ifndef CSE_DATALOADER_FORMATS_NPY_ARRAY_H
#define CSE_DATALOADER_FORMATS_NPY_ARRAY_H

#include "dataloader/formats/npy_file.h"

typedef struct cse_npy_array {
    cse_file_pool *pool; /* borrowed */
    int file;
    cse_npy_header header;
    unsigned char *memory; /* all elements; NULL: they are in the file */
} cse_npy_array;

/* `key` names a member of an .npz, and is NULL for its only one. CSE_CONFIG with the names of all
 * members where that does not say which, CSE_DATA as cse_npy_read_header. Clear it also after a
 * failure. */
cse_status cse_npy_array_open(cse_file_pool *pool, const char *path, const char *key,
                              cse_npy_array *array);
void cse_npy_array_clear(cse_npy_array *array);
/* Keeps all elements in memory where they have at most so many bytes: for small ones that are read
 * one at a time. */
cse_status cse_npy_array_keep(cse_npy_array *array, int64_t most_bytes);

/* Such elements are read soon: cse_file_pool_expect. */
void cse_npy_array_expect(const cse_npy_array *array, int64_t first, int64_t count);
/* Raw elements [first, first + count) in C order. */
cse_status cse_npy_array_read(const cse_npy_array *array, int64_t first, int64_t count, void *raw);

#endif
